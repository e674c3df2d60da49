import { afterEach, beforeEach, expect, setDefaultTimeout, test } from 'bun:test'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { atMost } from '../../../../test/harness/crowd.ts'
import { Playground } from '../../../../test/harness/playground.ts'
import { Shop, type Ticket } from '../../../../test/harness/shop.ts'
import { Stampede } from '../../../../test/harness/stampede.ts'
import { Fault } from '../../../base/fault.ts'
import { runsAsRoot } from '../account.ts'
import { connect, isGone, query, Scratch, until } from '../scratch.fixture.ts'
import { backupEmbedded } from './backup.ts'
import { restoreEmbedded } from './restore.ts'

setDefaultTimeout(300_000)

let scratch: Scratch
let playground: Playground
beforeEach(() => {
  scratch = new Scratch()
  playground = new Playground()
})
afterEach(async () => {
  await playground.undo()
  await scratch.undo()
})

const quiet = { log: () => {}, onProgress: () => {} }
const backup = (dataDir: string, to: string) => backupEmbedded({ ...quiet, dataDir, to })
const restore = (from: string, dataDir: string) => restoreEmbedded({ ...quiet, from, dataDir })

async function refusalOf(act: Promise<unknown>): Promise<Fault> {
  const error = await act.then(
    () => new Error('was not refused'),
    error => error,
  )
  if (!(error instanceof Fault)) throw error
  expect(error.message).not.toContain('\n')
  return error
}

/** A stopped folder with something in it, and its backup. */
async function aBackup(): Promise<string> {
  const dataDir = await scratch.madeDataDir()
  writeFileSync(join(dataDir, 'ticket-key'), 'of the test\n', { mode: 0o600 })
  const to = join(scratch.folder(), 'backup')
  await backup(dataDir, to)
  return to
}

test('a backup taken while orders are placed holds every order answered before it, and the restored ledger adds up', async () => {
  const dataDir = playground.dataDir()
  const server = await Stampede.start(playground, { dataDir })
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: 4_000 }, { units: 50 }])
  const tickets: Ticket[] = []
  let over = false
  const selling = atMost(16, Array.from({ length: 16 }), async (_, clerk) => {
    for (let i = 0; !over; i++) {
      const item = sale.items[i % 10 === 9 ? 1 : 0]!
      const ticket = await shop.ticket(`buyer-${clerk}-${i}`, sale.id, item.id)
      tickets.push(ticket)
      await shop.order(ticket, 1)
    }
  })
  await shop.placed(100)
  const before = placedIn(shop)
  const to = join(scratch.folder(), 'backup')
  const report = await backup(dataDir, to)
  const after = placedIn(shop)
  over = true
  await selling
  expect(report.of).toBe('running')
  expect(after.length, 'orders were placed meanwhile').toBeGreaterThan(before.length)

  const elsewhere = playground.dataDir()
  await restore(to, elsewhere)
  const restored = await Stampede.start(playground, { dataDir: elsewhere })
  const again = new Shop(() => restored.url())
  const orders = new Map((await again.orders(sale.id)).map(order => [order.id, order]))
  console.log(
    `  ${before.length} orders told before, ${after.length} when it was done, ${orders.size} in the backup; ${report.files} files, ${report.bytes} bytes, ${report.tookMs} ms`,
  )
  expect(before.filter(id => !orders.has(id))).toEqual([])
  const theirs = new Set((await shop.orders(sale.id)).map(order => order.id))
  expect([...orders.keys()].filter(id => !theirs.has(id))).toEqual([])
  for (const line of await again.audit(sale.id)) {
    expect(line.available + line.pending + line.paid).toBe(line.units)
    expect(line.consistent).toBe(true)
  }
  // The secrets came along: a ticket of the old server still leads to its order.
  const ticket = tickets.find(one => one.buyer === orders.get(before[0]!)!.buyer)!
  expect((await again.order(ticket, 1)).answer).toMatchObject({ kind: 'same', order: { id: before[0] } })
})

function placedIn(shop: Shop): string[] {
  return shop.told.flatMap(({ answer }) => (answer.kind === 'placed' ? [answer.order.id] : []))
}

test('a backup is one moment of the ledger, although PostgreSQL writes and recycles its log meanwhile', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  const client = await connect(server.connection)
  await client.query('CREATE TABLE kept (round int, n int)')
  await client.query('CREATE TABLE latest AS SELECT n, 0 AS round FROM generate_series(1, 5000) n')
  let done = false
  let rounds = 0
  const churning = (async () => {
    while (!done) {
      const round = rounds + 1
      await client.query(
        `BEGIN; INSERT INTO kept SELECT ${round}, generate_series(1, 1000); UPDATE latest SET round = ${round}; COMMIT`,
      )
      await client.query('SELECT pg_switch_wal()')
      await client.query('CHECKPOINT')
      rounds = round
    }
  })()
  let to: string
  let before: number
  await until(() => rounds > 0)
  // Until one was taken during which the log was written and recycled: a busy PostgreSQL may not come to it during the first.
  do {
    before = rounds
    to = join(scratch.folder(), `backup-${before}`)
    await backup(dataDir, to)
  } while (rounds <= before + 2)
  done = true
  await churning
  await client.end()
  // The slot goes with its session, which PostgreSQL ends a moment after the client has.
  await until(async () => (await query(server.connection, 'SELECT 1 FROM pg_replication_slots')).length === 0)

  const elsewhere = scratch.dataDirIn(scratch.folder())
  await restore(to, elsewhere)
  const restored = await scratch.start(elsewhere)
  const [last] = await query(restored.connection, 'SELECT max(round) FROM kept')
  console.log(`  ${before} rounds before the backup, ${last} in it, ${rounds} when it was done`)
  expect(last).toBeGreaterThanOrEqual(before)
  // Each round whole up to the last one, none after it, and everything else as of that very round.
  const whole = 'SELECT round FROM kept GROUP BY round HAVING count(*) = 1000 ORDER BY round'
  expect(await query(restored.connection, whole)).toEqual(Array.from({ length: Number(last) }, (_, i) => i + 1))
  const latest = `SELECT count(*) || ' of ' || min(round) || ' to ' || max(round) FROM latest`
  expect(await query(restored.connection, latest)).toEqual([`5000 of ${last} to ${last}`])
})

test('a backup of a stopped folder starts elsewhere, closed to others', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  await query(server.connection, 'CREATE TABLE kept AS SELECT 42 AS n')
  await server.stop()
  for (const name of ['ticket-key', 'admin-token', 'sandbox-payments.jsonl'])
    writeFileSync(join(dataDir, name), `${name} of the test\n`, { mode: 0o600 })
  const to = join(scratch.folder(), 'deeper', 'backup')
  expect((await backup(dataDir, to)).of).toBe('stopped')
  expect(statSync(to).mode & 0o777).toBe(0o700)
  expect(existsSync(`${to}.partial`)).toBe(false)
  expect(readdirSync(to).toSorted()).toEqual([
    'admin-token',
    'manifest.json',
    'postgres',
    'sandbox-payments.jsonl',
    'ticket-key',
  ])

  const elsewhere = scratch.dataDirIn(scratch.folder())
  await restore(to, elsewhere)
  for (const name of ['ticket-key', 'admin-token', 'sandbox-payments.jsonl']) {
    expect(readFileSync(join(elsewhere, name), 'utf8')).toBe(`${name} of the test\n`)
    expect(statSync(join(elsewhere, name)).mode & 0o777).toBe(0o600)
  }
  const restored = await scratch.start(elsewhere)
  expect(await query(restored.connection, 'SELECT n FROM kept')).toEqual([42])
  // The original goes on, untouched.
  expect(await query((await scratch.start(dataDir)).connection, 'SELECT n FROM kept')).toEqual([42])
})

test('a folder whose server was killed is backed up with all it had committed', async () => {
  const dataDir = await scratch.madeDataDir()
  const one = await scratch.startProcess(dataDir)
  await query(one.connection, 'CREATE TABLE kept AS SELECT 7 AS n')
  one.child.kill('SIGKILL')
  await one.ended
  const to = join(scratch.folder(), 'backup')
  expect((await backup(dataDir, to)).of).toBe('stopped')
  expect(isGone(one.postmaster)).toBe(true)
  const elsewhere = scratch.dataDirIn(scratch.folder())
  await restore(to, elsewhere)
  expect(await query((await scratch.start(elsewhere)).connection, 'SELECT n FROM kept')).toEqual([7])
})

test('a backup whose PostgreSQL dies under it fails in one line, leaves nothing, and works the next time', async () => {
  const dataDir = await scratch.madeDataDir()
  const server = await scratch.start(dataDir)
  const folder = scratch.folder()
  const to = join(folder, 'backup')
  let killed = 0
  const onProgress = () => {
    if (killed !== 0) return
    killed = server.pid()!
    process.kill(killed, 'SIGKILL')
  }
  expect((await refusalOf(backupEmbedded({ ...quiet, dataDir, to, onProgress }))).code).toBe('backup_failed')
  expect(readdirSync(folder)).toEqual([])
  await until(() => server.pid() !== undefined && server.pid() !== killed)
  await until(() => query(server.connection, 'SELECT 1').catch(() => undefined))
  expect((await backup(dataDir, to)).of).toBe('running')
})

// Only root runs PostgreSQL under an account that can't enter a closed folder.
test.if(runsAsRoot())('as root: restored into a folder closed to others, the ledger starts all the same', async () => {
  const to = await aBackup()
  const elsewhere = scratch.dataDirIn(scratch.folder(0o700))
  await restore(to, elsewhere)
  expect(await query((await scratch.start(elsewhere)).connection, 'SELECT 1')).toEqual([1])
})

test('a damaged backup is refused, however it is damaged, and nothing is restored', async () => {
  const to = await aBackup()
  const manifest = readFileSync(join(to, 'manifest.json'), 'utf8')
  const control = join(to, 'postgres', 'global', 'pg_control')
  const intact = readFileSync(control)
  const damages: readonly (readonly [string, () => void])[] = [
    [
      'was changed',
      () =>
        writeFileSync(
          control,
          intact.map((byte, i) => (i === 100 ? byte ^ 1 : byte)),
        ),
    ],
    ['bytes instead of', () => truncateSync(control, 100)],
    ['is missing', () => rmSync(control)],
    ['does not belong', () => writeFileSync(join(to, 'postgres', 'recovery.signal'), '')],
    ['does not belong', () => writeFileSync(join(to, 'stampede.1.pid'), '')],
    ['is missing', () => rmSync(join(to, 'postgres', 'pg_notify'), { recursive: true })],
    ["can't be read", () => truncateSync(join(to, 'manifest.json'), 1000)],
    ['not as it was written', () => writeFileSync(join(to, 'manifest.json'), '{"format":1}')],
    ['has format 2', () => writeFileSync(join(to, 'manifest.json'), '{"format":2}')],
    ['is not a backup', () => rmSync(join(to, 'manifest.json'))],
  ]
  const elsewhere = join(scratch.folder(), 'data')
  for (const [words, damage] of damages) {
    damage()
    expect((await refusalOf(restore(to, elsewhere))).message).toContain(words)
    writeFileSync(control, intact)
    rmSync(join(to, 'postgres', 'recovery.signal'), { force: true })
    rmSync(join(to, 'stampede.1.pid'), { force: true })
    mkdirSync(join(to, 'postgres', 'pg_notify'), { recursive: true })
    writeFileSync(join(to, 'manifest.json'), manifest)
    expect(existsSync(elsewhere)).toBe(false)
  }
  await restore(to, elsewhere)
})

test('a backup of another PostgreSQL version is refused', async () => {
  const to = await aBackup()
  const path = join(to, 'manifest.json')
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), postgres: '12' }))
  expect((await refusalOf(restore(to, join(scratch.folder(), 'data')))).message).toContain('PostgreSQL 12')
})

test('a ledger that is there is never restored over, a folder with anything else neither', async () => {
  const to = await aBackup()
  const dataDir = await scratch.madeDataDir()
  const there = readdirSync(join(dataDir, 'postgres'))
  expect((await refusalOf(restore(to, dataDir))).code).toBe('restore_not_empty')
  expect(readdirSync(join(dataDir, 'postgres'))).toEqual(there)
  const running = await scratch.start(dataDir)
  expect((await refusalOf(restore(to, dataDir))).code).toBe('embedded_folder_in_use')
  expect(await query(running.connection, 'SELECT 1')).toEqual([1])

  const other = scratch.folder()
  writeFileSync(join(other, 'ticket-key'), 'of somebody else\n')
  expect((await refusalOf(restore(to, other))).message).toContain('it holds ticket-key')
  expect(readFileSync(join(other, 'ticket-key'), 'utf8')).toBe('of somebody else\n')
})

test('a restore that was cut short is simply done again', async () => {
  const to = await aBackup()
  const dataDir = scratch.dataDirIn(scratch.folder())
  mkdirSync(join(dataDir, 'postgres.new-0123456789ab', 'base'), { recursive: true })
  writeFileSync(join(dataDir, 'ticket-key'), 'of the test\n')
  chmodSync(dataDir, 0o711)
  await restore(to, dataDir)
  expect(readdirSync(dataDir).filter(name => name.startsWith('postgres'))).toEqual(['postgres'])
  expect(await query((await scratch.start(dataDir)).connection, 'SELECT 1')).toEqual([1])
})

test('nothing that is there is overwritten by a backup; only remains of an earlier one are removed', async () => {
  const dataDir = await scratch.madeDataDir()
  const folder = scratch.folder()
  const to = join(folder, 'backup')
  mkdirSync(to)
  expect((await refusalOf(backup(dataDir, to))).code).toBe('backup_exists')
  rmSync(to, { recursive: true })

  mkdirSync(join(`${to}.partial`, 'photos'), { recursive: true })
  expect((await refusalOf(backup(dataDir, to))).message).toContain('it holds photos')
  expect(existsSync(join(`${to}.partial`, 'photos'))).toBe(true)
  rmSync(`${to}.partial`, { recursive: true })

  mkdirSync(join(`${to}.partial`, 'postgres', 'base'), { recursive: true })
  appendFileSync(join(`${to}.partial`, 'postgres', 'half'), 'a file')
  await backup(dataDir, to)
  expect(existsSync(join(to, 'postgres', 'half'))).toBe(false)
  expect((await refusalOf(backup(dataDir, join(dataDir, 'postgres', 'x')))).code).toBe('backup_place')
  expect((await refusalOf(backup(join(folder, 'gone'), join(folder, 'y')))).code).toBe('backup_no_data')
  expect(readdirSync(folder)).toEqual(['backup'])
})
