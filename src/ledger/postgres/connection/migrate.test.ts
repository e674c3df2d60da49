import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestLedger, type TestLedger } from '../../../../test/harness/money-ledger.ts'
import { until } from '../../../../test/harness/until.ts'
import { createNodes } from '../nodes.ts'
import { createOrders } from '../orders.ts'
import { createRights } from '../rights.ts'
import type { Database, Row } from './database.ts'
import { migrate, unapplied } from './migrate.ts'

const MIGRATIONS = join(import.meta.dirname, '../../migrations')
const NAMES = readdirSync(MIGRATIONS).sort()

let ledger: TestLedger
const folders: string[] = []
const databases: Database[] = []
beforeAll(async () => {
  ledger = await startTestLedger()
}, 300_000)
afterAll(async () => {
  for (const database of databases) await database.close()
  await ledger.stop()
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** An empty database of its own. */
async function empty(name: string): Promise<Database> {
  await ledger.sql(`CREATE DATABASE ${name}`)
  const database = ledger.connect(name)
  databases.push(database)
  return database
}

/** A copy of the migrations, to be tampered with. */
function copied(): string {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-migrations-'))
  folders.push(folder)
  cpSync(MIGRATIONS, folder, { recursive: true })
  return folder
}

test('every migration once, in order; again: none', async () => {
  const database = await empty('once')
  expect(await migrate(database)).toEqual(NAMES)
  expect(await migrate(database)).toEqual([])
})

test('what is missing is named, and asking changes nothing', async () => {
  const database = await empty('asked')
  expect(await unapplied(database)).toEqual(NAMES)
  expect(await tablesOf(database)).toEqual([])
  await migrate(database)
  expect(await unapplied(database)).toEqual([])
})

test.each([
  ['retention', '--older-than', '30d'],
  ['erase', '--buyer', 'ann'],
])(
  '%s without --yes leaves a ledger of an older version as it is, and says what to do',
  async (command, option, value) => {
    const name = `dry_${command}`
    const database = await empty(name)
    const run = spawnSync(process.execPath, [join(import.meta.dirname, '../../../main.ts'), command, option, value], {
      encoding: 'utf8',
      env: { ...process.env, DATABASE_URL: ledger.urlOf(name) },
    })
    expect({ status: run.status, says: run.stderr }).toEqual({
      status: 1,
      says: expect.stringMatching(/older version.*Nothing was changed.*stampede migrate/s),
    })
    expect(await tablesOf(database)).toEqual([])
  },
)

async function tablesOf(database: Database): Promise<readonly unknown[]> {
  const client = await database.connect()
  try {
    return (await client.query(`SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace`)).rows
  } finally {
    await client.end()
  }
}

test('two processes that start together apply each once', async () => {
  const database = await empty('together')
  const [one, other, third] = await Promise.all([migrate(database), migrate(database), migrate(database)])
  expect([...one, ...other, ...third].sort()).toEqual(NAMES)
})

test('a migration that was changed after it was applied stops the start, and names itself', async () => {
  const database = await empty('changed')
  const folder = copied()
  await migrate(database, folder)
  const [first = ''] = NAMES
  writeFileSync(join(folder, first), `${readFileSync(join(folder, first), 'utf8')}\n-- changed`)
  const refused = migrate(database, folder)
  await expect(refused).rejects.toMatchObject({ code: 'migration_changed', message: expect.stringContaining(first) })
})

test('a database newer than the code is left alone', async () => {
  const database = await empty('newer')
  const folder = copied()
  writeFileSync(join(folder, '9999_later.sql'), 'CREATE TABLE later (id int)')
  expect(await migrate(database, folder)).toContain('9999_later.sql')
  await expect(migrate(database)).rejects.toMatchObject({
    code: 'ledger_newer',
    message: expect.stringContaining('9999_later'),
  })
})

test('a migration that fails leaves no trace, and the next start goes on from there', async () => {
  const database = await empty('failing')
  const folder = copied()
  writeFileSync(join(folder, '9999_broken.sql'), 'CREATE TABLE half (id int); SELECT nonsense')
  await expect(migrate(database, folder)).rejects.toThrow('nonsense')
  writeFileSync(join(folder, '9999_broken.sql'), 'CREATE TABLE half (id int)')
  expect(await migrate(database, folder)).toEqual(['9999_broken.sql'])
})

describe('a start while another process is at it', () => {
  /** Somebody else's right to migrate. */
  async function busy(name: string) {
    const database = await empty(name)
    const other = await database.connect()
    await other.query('SELECT pg_advisory_lock(7283001)')
    return { database, other }
  }
  const sessions = async (name: string) => {
    const [row] = await ledger.sql(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = '${name}' AND query LIKE '%pg_try_advisory_lock%'`,
    )
    return row?.n
  }

  test('waits for another process that migrates, and none of its statements waits in the server', async () => {
    const { database, other } = await busy('turn')
    const applied = migrate(database)
    await until('it polls the lock', async () => (await sessions('turn')) === 1)
    const [waiting] = await ledger.sql(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = 'turn' AND wait_event_type = 'Lock'`,
    )
    expect(waiting?.n).toBe(0)
    await other.end()
    expect(await applied).toEqual(NAMES)
  })

  test('names what it waited for when the other never ends', async () => {
    const { database, other } = await busy('late')
    await expect(migrate(database, undefined, { waitMs: 0 })).rejects.toMatchObject({
      name: 'Fault',
      code: 'migration_elsewhere',
      message: expect.stringMatching(/another process is migrating the database.*pg_locks/),
    })
    await other.end()
    expect(await migrate(database)).toEqual(NAMES)
  })

  test('the ledger dies meanwhile: that is a fault, not a bug', async () => {
    const { database, other } = await busy('gone')
    const refused = migrate(database).catch((error: unknown) => error)
    await until('it polls the lock', async () => (await sessions('gone')) === 1)
    await ledger.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'gone' AND query LIKE '%pg_try_advisory_lock%'`,
    )
    expect(await refused).toMatchObject({ name: 'Fault', code: 'ledger_away' })
    await other.end()
  })

  test('a migration that takes too long is reported as such, and not as a ledger that is away', async () => {
    const database = await empty('slow')
    const folder = copied()
    writeFileSync(join(folder, '9999_slow.sql'), 'SET LOCAL statement_timeout = 50; SELECT pg_sleep(60)')
    const refused = await migrate(database, folder).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      name: 'Fault',
      code: 'migration_canceled',
      message: expect.stringMatching(/9999_slow.sql.*statement timeout/),
    })
  })
})

describe('a migration beside processes that sell', () => {
  const LATER = '9999_later.sql'

  /** A database with two tables that a migration wants both of, and a transaction that holds the second. */
  async function held(name: string) {
    const database = await empty(name)
    const folder = copied()
    await migrate(database, folder)
    writeFileSync(join(folder, LATER), 'LOCK TABLE sales; LOCK TABLE items')
    const other = await database.connect()
    await other.query('BEGIN')
    await other.query('SELECT count(*) FROM items')
    return { database, folder, other }
  }

  test('gives up its locks for a transaction that holds one table and needs the other, and is applied afterwards', async () => {
    const { database, folder, other } = await held('crossed')
    try {
      const applied = migrate(database, folder)
      await until('the migration waits', async () => {
        const [row] = await ledger.sql(
          `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = 'crossed' AND wait_event_type = 'Lock'`,
        )
        return row?.n === 1
      })
      // The other half of a deadlock: it is answered, not ended.
      expect((await other.query('SELECT count(*)::int AS n FROM sales')).rows).toEqual([{ n: 0 }])
      await other.query('COMMIT')
      expect(await applied).toEqual([LATER])
    } finally {
      await other.end()
    }
  })

  test('names the cause when its tables stay locked, and has changed nothing', async () => {
    const { database, folder, other } = await held('never')
    try {
      await expect(migrate(database, folder, { tryMs: 0 })).rejects.toMatchObject({
        code: 'migration_in_the_way',
        message: expect.stringMatching(new RegExp(`${LATER}.*nothing was changed.*pg_stat_activity`)),
      })
      await other.query('COMMIT')
      expect(await migrate(database, folder)).toEqual([LATER])
    } finally {
      await other.end()
    }
  })
})

describe('a ledger of the version before many machines', () => {
  /** What that version runs, verbatim: it goes on beside the new one while processes are replaced. */
  const LEASE = `WITH free AS (
  SELECT n.no AS id, coalesce(nodes.until_ms, 0) AS from_ms
  FROM generate_series(0, 1023) AS n (no) LEFT JOIN nodes ON nodes.id = n.no
  WHERE nodes.id IS NULL OR (nodes.lease_until < clock_timestamp() AND nodes.until_ms < $2)
  ORDER BY n.no
  OFFSET $4 LIMIT 1
)
INSERT INTO nodes (id, holder, until_ms, lease_until)
SELECT free.id, $1, $2::bigint + $3::bigint, clock_timestamp() + $3::bigint * interval '1 millisecond' FROM free
ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms, lease_until = excluded.lease_until
  WHERE nodes.lease_until < clock_timestamp() AND nodes.until_ms < $2
RETURNING id, (SELECT from_ms FROM free), until_ms`
  const RENEW = `UPDATE nodes SET until_ms = greatest(until_ms, $3::bigint + $4::bigint), lease_until = clock_timestamp() + $4::bigint * interval '1 millisecond'
WHERE id = $1 AND holder = $2
RETURNING until_ms`
  const GIVE_BACK = `UPDATE nodes SET until_ms = $3, lease_until = clock_timestamp() - interval '1 millisecond' WHERE id = $1 AND holder = $2`
  const PLACE = `SELECT status, available, odd FROM place($1, $2, $3, $4, $5, $6, $7, $8)`
  const NOW_MS = 1_800_000_000_000

  test('keeps its rows, and its statements go on working afterwards', async () => {
    const database = await empty('before')
    const folder = copied()
    for (const name of NAMES) if (Number(name.slice(0, 4)) > 7) rmSync(join(folder, name))
    await migrate(database, folder)
    const client = await database.connect()
    const old = async (text: string, values: unknown[]) => (await client.query<Row>(text, values)).rows
    try {
      await client.query(`INSERT INTO sales (id, name, opens_at, closes_at, state) VALUES (1, 's', now() - interval '1 hour', now() + interval '1 hour', 'ready');
        INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, door, epoch, gate_epoch)
        VALUES (2, 1, 0, 'i', 100, 'CNY', 5, 5, 5, 3, 900000, 'gate', 4, 4)`)
      const ask = (id: number, buyer: string) => [2, 4, false, [id], [buyer], [1], [1], [NOW_MS]]
      expect(await old(PLACE, ask(10, 'ann'))).toMatchObject([{ status: 'ok', available: 4 }])
      expect(await old(LEASE, ['old', NOW_MS, 30_000, 0])).toMatchObject([{ id: 0 }])

      expect(await migrate(database)).toEqual(NAMES.filter(name => Number(name.slice(0, 4)) > 7))

      expect(await old(RENEW, [0, 'old', NOW_MS + 1, 30_000])).toHaveLength(1)
      expect(await old(LEASE, ['older', NOW_MS, 30_000, 0])).toMatchObject([{ id: 1 }])
      expect(await old(PLACE, ask(10, 'ann'))).toMatchObject([
        { status: 'ok', available: 4, odd: [{ verdict: 'same' }] },
      ])
      expect(await old(PLACE, ask(11, 'ann'))).toMatchObject([{ available: 4, odd: [{ verdict: 'refused' }] }])
      expect(await old(PLACE, ask(12, 'ben'))).toMatchObject([{ available: 3, odd: null }])
      // A process that can't confirm is not waited for.
      const nodes = createNodes(database)
      expect(await nodes.unconfirmed('2', 5)).toEqual({ waiting: 0, lapsed: 0 })
      const { node } = await nodes.lease('new', NOW_MS, 'holding')
      expect(node).toBe(2)
      expect(await nodes.unconfirmed('2', 5)).toEqual({ waiting: 1, lapsed: 0 })
      await old(GIVE_BACK, [1, 'older', NOW_MS])
      expect(await nodes.lease('next', NOW_MS + 1, 'plain')).toMatchObject({ node: 1, fromMs: NOW_MS })
      const orders = createOrders(database)
      expect((await orders.find(['10', '11', '12'])).map(order => order.state).toSorted()).toEqual([
        'closed',
        'pending',
        'pending',
      ])
      await createRights(database).setDoor('2', 4, 'ledger')
      const direct = { order: '13', buyer: 'cyd', attempt: 1, quantity: 1, reservedAtMs: NOW_MS }
      expect(await orders.placeDirectly('2', 4, [direct])).toMatchObject({ status: 'ok', available: 2 })
    } finally {
      await client.end()
    }
  })
})
