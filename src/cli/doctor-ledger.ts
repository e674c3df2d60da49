/**
 * What the doctor asks the ledger: can it be reached, does it keep what it confirms, is it up to date, does its clock agree with ours.
 * An embedded one that is running is asked beside its server; one that is not is started for a moment.
 */

import { chmodSync, existsSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openLedger } from '../app/compose-ledger.ts'
import type { Config } from '../app/config.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { aheadMs } from './clock-skew.ts'
import type { Finding } from './finding.ts'

const VERSION_MIN = 14
/** The pool, the lock that says who sells, migrations, and somebody who looks. */
const CONNECTIONS_MIN = 25
/** Of each process of a cluster; a keeper has one more, and so has any process while it starts. */
const CLUSTER_CONNECTIONS = 10
/** The smallest cluster: two processes that do everything. */
const CLUSTER_PROCESSES_MIN = 2
const SKEW_MS_ODD = 100
const SKEW_MS_BAD = 1_000
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

type Ask = (statement: string) => Promise<readonly Record<string, unknown>[]>

export async function checkLedger(config: Config, clock: Clock): Promise<Finding[]> {
  const { databaseUrl, dataDir } = config
  const beside = databaseUrl === undefined ? socketOf(dataDir) : undefined
  const made = databaseUrl === undefined && !existsSync(join(dataDir, 'postgres'))
  const scratch = made ? mkdtempSync(join(tmpdir(), 'stampede-doctor-')) : undefined
  try {
    // Root lends PostgreSQL another account, which must be able to enter.
    if (scratch !== undefined) chmodSync(scratch, 0o755)
    const target = scratch === undefined ? config : { ...config, dataDir: join(scratch, 'data') }
    return await look(beside === undefined ? target : { ...config, databaseUrl: beside }, { made, beside }, clock)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return [{ what: 'PostgreSQL', state: 'bad', found: error.message, advice: adviceFor(config) }]
  } finally {
    if (scratch !== undefined) removeScratch(scratch)
  }
}

/** With the data, which lies elsewhere where PostgreSQL's account can't enter the temporary folder. */
function removeScratch(scratch: string): void {
  const data = join(scratch, 'data', 'postgres')
  if (lstatSync(data, { throwIfNoEntry: false })?.isSymbolicLink() && basename(readlinkSync(data)).startsWith('data-'))
    rmSync(readlinkSync(data), { recursive: true, force: true })
  rmSync(scratch, { recursive: true, force: true })
}

async function look(
  config: Config,
  { made, beside }: { readonly made: boolean; readonly beside: string | undefined },
  clock: Clock,
): Promise<Finding[]> {
  const ledger = await openLedger(config, SILENT)
  try {
    const client = await ledger.database.connect()
    try {
      const ask: Ask = async statement => (await client.query(statement)).rows
      const where = beside
        ? 'the embedded one, which is running'
        : made
          ? 'the embedded one can be run here; no data yet'
          : config.databaseUrl === undefined
            ? 'the embedded one, started to look'
            : 'reached'
      return [
        await checkVersion(ask, where),
        await checkDurability(ask),
        await (config.redis === undefined ? checkConnections(ask) : checkClusterConnections(ask)),
        await checkSkew(ask, clock),
        made
          ? { what: 'migrations', state: 'good', found: 'none yet; the first start applies them' }
          : await checkMigrations(ask),
      ]
    } finally {
      await client.end()
    }
  } finally {
    await ledger.close()
  }
}

async function checkVersion(ask: Ask, where: string): Promise<Finding> {
  const [row] = await ask(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major, pg_is_in_recovery() AS standby`,
  )
  const found = `${row?.version}, ${where}`
  const what = 'PostgreSQL'
  if (Number(row?.major) < VERSION_MIN)
    return { what, state: 'bad', found, advice: `use PostgreSQL ${VERSION_MIN} or newer` }
  if (row?.standby === true)
    return {
      what,
      state: 'bad',
      found: `${found}; a standby`,
      advice: 'set DATABASE_URL to the primary: a standby takes no orders',
    }
  return { what, state: 'good', found }
}

async function checkDurability(ask: Ask): Promise<Finding> {
  const [row] = await ask(
    `SELECT current_setting('synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes`,
  )
  const found = `synchronous_commit ${row?.synchronous_commit}, fsync ${row?.fsync}, full_page_writes ${row?.full_page_writes}`
  const off = Object.entries(row ?? {})
    .filter(([, value]) => value === 'off')
    .map(([name]) => name)
  if (off.length === 0) return { what: 'durability', state: 'good', found }
  return {
    what: 'durability',
    state: 'bad',
    found,
    advice: `a confirmed order could be lost in a crash: ${off.map(name => `ALTER SYSTEM SET ${name} = on`).join('; ')}; SELECT pg_reload_conf()`,
  }
}

async function connectionsOf(ask: Ask): Promise<number> {
  const [row] = await ask(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS free`,
  )
  return Number(row?.free)
}

/** Who runs is known by its lease; which of them keep is not, so each is taken for a keeper. */
async function checkClusterConnections(ask: Ask): Promise<Finding> {
  const free = await connectionsOf(ask)
  const [there] = await ask(`SELECT to_regclass('nodes') IS NOT NULL AS made`)
  const [leased] =
    there?.made === true ? await ask('SELECT count(*) AS live FROM nodes WHERE lease_until > clock_timestamp()') : []
  const running = Number(leased?.live ?? 0)
  const needed = Math.max(running, CLUSTER_PROCESSES_MIN) * (CLUSTER_CONNECTIONS + 1) + 1
  const found = `up to ${free}; ${running} ${running === 1 ? 'process runs' : 'processes run'} now, each takes up to ${CLUSTER_CONNECTIONS}, a keeper one more`
  if (free >= needed) return { what: 'connections', state: 'good', found }
  return {
    what: 'connections',
    state: 'odd',
    found,
    advice: `raise max_connections: ${CLUSTER_CONNECTIONS} for each process and one more for each keeper, also one that stands by, and room for you`,
  }
}

async function checkConnections(ask: Ask): Promise<Finding> {
  const free = await connectionsOf(ask)
  const what = 'connections'
  if (free >= CONNECTIONS_MIN) return { what, state: 'good', found: `up to ${free}` }
  return {
    what,
    state: 'odd',
    found: `only up to ${free}`,
    advice: `one Stampede uses up to ${CONNECTIONS_MIN}: raise max_connections`,
  }
}

async function checkSkew(ask: Ask, clock: Clock): Promise<Finding> {
  const ahead = await aheadMs(clock, async () => {
    const [row] = await ask('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms')
    return Number(row?.ms)
  })
  const skew = Math.round(Math.abs(ahead))
  const found = `${skew} ms apart from the ledger's`
  if (skew < SKEW_MS_ODD) return { what: 'clock', state: 'good', found }
  const advice = 'the window is judged by this clock: keep both machines on time with NTP (chrony, systemd-timesyncd)'
  return { what: 'clock', state: skew < SKEW_MS_BAD ? 'odd' : 'bad', found, advice }
}

async function checkMigrations(ask: Ask): Promise<Finding> {
  const folder = fileURLToPath(new URL('../ledger/migrations', import.meta.url))
  const ours = readdirSync(folder).filter(name => name.endsWith('.sql'))
  const [there] = await ask(`SELECT to_regclass('migrations') IS NOT NULL AS made`)
  const applied = there?.made === true ? (await ask('SELECT name FROM migrations')).map(row => String(row.name)) : []
  const what = 'migrations'
  const unknown = applied.filter(name => !ours.includes(name))
  if (unknown.length > 0)
    return {
      what,
      state: 'bad',
      found: `the database has ${unknown.join(', ')}`,
      advice: 'start the newer version that made it, or restore a backup made by this one',
    }
  const missing = ours.filter(name => !applied.includes(name))
  if (missing.length === 0) return { what, state: 'good', found: `all ${ours.length} applied` }
  return {
    what,
    state: 'odd',
    found: `${missing.length} of ${ours.length} are missing`,
    advice: 'run "stampede migrate"; the next start does it too',
  }
}

function adviceFor({ databaseUrl, dataDir }: Config): string {
  return databaseUrl === undefined
    ? `do what the line says; ${join(dataDir, 'postgres.log')} knows more. Or set DATABASE_URL to a PostgreSQL of your own`
    : 'check DATABASE_URL: host, port, name, password, and whether that PostgreSQL lets this machine in'
}

/** The address of the embedded PostgreSQL that runs on this folder, as it says in its pid file; nothing when none does. */
function socketOf(dataDir: string): string | undefined {
  let lines: string[]
  try {
    lines = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(lines[0]), 0)
  } catch (error) {
    // Not ours to signal, but there.
    if ((error as { code?: string }).code !== 'EPERM') return undefined
    lines = readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')
  }
  const folder = lines[4] ?? ''
  return folder === '' ? undefined : `postgresql://stampede@localhost/stampede?host=${encodeURIComponent(folder)}`
}
