/**
 * What the doctor checks in PostgreSQL: can it be reached, does it keep what it confirms, is it up to date, does its clock agree with ours.
 * An embedded one that is running is asked beside its server; one that is not running is started for a moment.
 */

import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  ALONE_CONNECTIONS,
  CLUSTER_CONNECTIONS,
  COLLATION_VERSION_MIN,
  collationAdvice,
  INDEX_STATES,
  OLD_ATTEMPT_INDEX,
  openLedger,
  runningAddress,
  STALE_COLLATION,
} from '../../app/compose-ledger.ts'
import type { Config } from '../../app/config/config.ts'
import { removeDataDir } from '../../app/config/data-dir.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { aheadMs, skewFinding } from './clock-skew.ts'
import { bad, type Finding, good, odd, SILENT } from './finding.ts'

const VERSION_MIN = 14
/** The smallest cluster: two processes that do everything. */
const CLUSTER_PROCESSES_MIN = 2

type Ask = (statement: string) => Promise<readonly Record<string, unknown>[]>

export async function checkLedger(config: Config, clock: Clock): Promise<Finding[]> {
  const { databaseUrl, dataDir } = config
  if (databaseUrl !== undefined) return examine(config, 'reached', clock)
  const running = runningAddress(dataDir)
  if (running !== undefined)
    return examine(config, 'the embedded one, which is running', clock, { databaseUrl: running })
  if (existsSync(join(dataDir, 'postgres'))) return examine(config, 'the embedded one, started for this check', clock)
  const scratch = mkdtempSync(join(tmpdir(), 'stampede-doctor-'))
  const isNew = { dataDir: join(scratch, 'data') }
  try {
    // Root lends PostgreSQL another account, which must be able to enter.
    chmodSync(scratch, 0o755)
    return await examine(config, 'the embedded one can be run here; no data yet', clock, isNew)
  } finally {
    removeDataDir(isNew.dataDir)
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The ledger of `config`, or of `instead` on this occasion: one that is running, or a new one in a data folder for this check. */
async function examine(
  config: Config,
  where: string,
  clock: Clock,
  instead: { readonly databaseUrl?: string; readonly dataDir?: string } = {},
): Promise<Finding[]> {
  const { databaseUrl, dataDir, redis } = config
  try {
    return await askLedger({ ...config, ...instead }, async ask => [
      await checkVersion(ask, where),
      await checkDurability(ask),
      await checkCollation(ask),
      await (redis === undefined ? checkConnections(ask) : checkClusterConnections(ask)),
      skewFinding('clock', await ledgerAheadMs(clock, ask), 'sales open and close by this clock'),
      instead.dataDir === undefined
        ? await checkMigrations(ask)
        : good('migrations', 'none yet; the first start applies them'),
      ...(instead.dataDir === undefined && (await exists(ask, 'migrations')) ? [await checkIndexes(ask)] : []),
    ])
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    const advice =
      databaseUrl === undefined
        ? `do what the line says; ${join(dataDir, 'postgres.log')} says more. Or set DATABASE_URL to a PostgreSQL of your own`
        : 'check DATABASE_URL: host, port, name, password, and whether that PostgreSQL accepts connections from this machine'
    return [bad('PostgreSQL', error.message, advice)]
  }
}

/** The ledger is open while `use` runs. */
export async function askLedger<T>(config: Config, use: (ask: Ask) => Promise<T>): Promise<T> {
  const ledger = await openLedger(config, SILENT)
  try {
    const client = await ledger.database.connect()
    try {
      return await use(async statement => (await client.query(statement)).rows)
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
  if (Number(row?.major) < VERSION_MIN) return bad('PostgreSQL', found, `use PostgreSQL ${VERSION_MIN} or newer`)
  if (row?.standby !== true) return good('PostgreSQL', found)
  return bad('PostgreSQL', `${found}; a standby`, 'set DATABASE_URL to the primary: a standby takes no orders')
}

async function checkDurability(ask: Ask): Promise<Finding> {
  const [row] = await ask(
    `SELECT (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS synchronous_commit, current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes`,
  )
  const settings = Object.entries(row ?? {})
  const found = settings.map(([name, value]) => `${name} ${value}`).join(', ')
  const off = settings.filter(([name, value]) => value === 'off' && name !== 'synchronous_commit')
  // Every connection of ours raises it.
  if (off.length === 0) return good('durability', found.replace('synchronous_commit off', '$& (our connections: on)'))
  const mend = off.map(([name]) => `ALTER SYSTEM SET ${name} = on`).join('; ')
  return bad('durability', found, `a confirmed order could be lost in a crash: ${mend}; SELECT pg_reload_conf()`)
}

async function checkCollation(ask: Ask): Promise<Finding> {
  const [row] = await ask(
    `SELECT current_setting('server_version_num')::int / 10000 AS major, datcollate AS collate FROM pg_database WHERE datname = current_database()`,
  )
  const [stale] = Number(row?.major) < COLLATION_VERSION_MIN ? [] : await ask(STALE_COLLATION)
  if (stale === undefined) return good('collation', String(row?.collate))
  const found = `version ${stale.here}, but the indexes were built with ${stale.made}: they may miss orders that exist`
  return bad('collation', found, collationAdvice(String(stale.name)))
}

async function connectionsOf(ask: Ask): Promise<number> {
  const [row] = await ask(
    `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS free`,
  )
  return Number(row?.free)
}

/** Leases show which processes run, but not which of them are keepers: each is counted as one. */
async function checkClusterConnections(ask: Ask): Promise<Finding> {
  const free = await connectionsOf(ask)
  const [leased] = (await exists(ask, 'nodes'))
    ? await ask('SELECT count(*) AS live FROM nodes WHERE lease_until > clock_timestamp()')
    : []
  const running = Number(leased?.live ?? 0)
  const needed = Math.max(running, CLUSTER_PROCESSES_MIN) * (CLUSTER_CONNECTIONS + 1) + 1
  const found = `up to ${free}; ${running} ${running === 1 ? 'process runs' : 'processes run'} now, each takes up to ${CLUSTER_CONNECTIONS}, a keeper one more`
  if (free >= needed) return good('connections', found)
  const advice = `raise max_connections: ${CLUSTER_CONNECTIONS} for each process and one more for each keeper, also one on standby, and a few for psql`
  return odd('connections', found, advice)
}

async function checkConnections(ask: Ask): Promise<Finding> {
  const free = await connectionsOf(ask)
  if (free >= ALONE_CONNECTIONS) return good('connections', `up to ${free}`)
  const advice = `one Stampede uses up to ${ALONE_CONNECTIONS}: raise max_connections`
  return odd('connections', `only up to ${free}`, advice)
}

export function ledgerAheadMs(clock: Clock, ask: Ask): Promise<number> {
  const statement = 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms'
  return aheadMs(clock, async () => Number((await ask(statement))[0]?.ms))
}

async function checkMigrations(ask: Ask): Promise<Finding> {
  const folder = fileURLToPath(new URL('../../ledger/migrations', import.meta.url))
  const ours = readdirSync(folder).filter(name => name.endsWith('.sql'))
  const rows = (await exists(ask, 'migrations')) ? await ask('SELECT name FROM migrations') : []
  const applied = rows.map(row => String(row.name))
  const unknown = applied.filter(name => !ours.includes(name))
  const missing = ours.filter(name => !applied.includes(name))
  if (unknown.length > 0) {
    const advice = 'start the newer version that made it, or restore a backup made by this one'
    return bad('migrations', `the database has ${unknown.join(', ')}`, advice)
  }
  if (missing.length === 0) return good('migrations', `all ${ours.length} applied`)
  const found = `${missing.length} of ${ours.length} are missing`
  return odd('migrations', found, 'run "stampede migrate"; the next start does it too')
}

/** The leader builds what is missing, while it runs. */
async function checkIndexes(ask: Ask): Promise<Finding> {
  const rows = await ask(INDEX_STATES)
  const missing = rows.filter(row => row.state !== 'built').map(row => String(row.name))
  if (missing.length > 0) {
    const found = `${missing.length} of ${rows.length} are missing: ${missing.join(', ')}. Lists, audits and rebuilds are slow on a large ledger`
    return odd(
      'indexes',
      found,
      'a running server builds them, one by one, and its log says how far it is: keep it running',
    )
  }
  const [old] = await ask(`SELECT to_regclass('${OLD_ATTEMPT_INDEX}') IS NOT NULL AS made`)
  if (old?.made !== true) return good('indexes', `all ${rows.length} built`)
  return good(
    'indexes',
    `all ${rows.length} built; when no older version runs any more, DROP INDEX ${OLD_ATTEMPT_INDEX} makes placing cheaper (the next release does it)`,
  )
}

async function exists(ask: Ask, table: 'nodes' | 'migrations'): Promise<boolean> {
  const [row] = await ask(`SELECT to_regclass('${table}') IS NOT NULL AS made`)
  return row?.made === true
}
