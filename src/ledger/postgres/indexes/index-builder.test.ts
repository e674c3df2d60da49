/** Indexes of large tables are built while orders are placed, by one session, and a build that was broken off is done again. */

import { expect, test } from 'bun:test'
import type pg from 'pg'
import { ledgerForFile } from '../../../../test/harness/flow-stage.ts'
import { until } from '../../../../test/harness/until.ts'
import { systemClock } from '../../../base/clock.ts'
import { Fault } from '../../../base/fault.ts'
import type { Database } from '../connection/database.ts'
import { migrate } from '../connection/migrate.ts'
import { createOrders } from '../orders.ts'
import { createIndexBuilder } from './index-builder.ts'
import { INDEX_STATES, type IndexState, OLD_ATTEMPT_INDEX, WANTED } from './wanted-indexes.ts'

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const NEVER = new AbortController().signal
const ITEM = '11'
/** Of the four partitions, item 11 has one. */
const ORDERS = 3_000

const ledger = ledgerForFile()
let databases = 0

interface World {
  readonly database: Database
  readonly client: pg.Client
  readonly states: () => Promise<readonly IndexState['state'][]>
  readonly hasOld: () => Promise<boolean>
}

/** A ledger of its own with one item, and as many old orders. */
async function inLedger(orders: number, use: (world: World) => Promise<void>): Promise<void> {
  databases += 1
  await ledger.sql(`CREATE DATABASE indexes_${databases}`)
  const database = ledger.connect(`indexes_${databases}`)
  const client = await database.connect()
  try {
    await migrate(database)
    await client.query(
      `INSERT INTO sales (id, name, opens_at, closes_at, state) VALUES (1, 'sale', now() - interval '1 hour', now() + interval '1 hour', 'ready');
       INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, door, epoch, gate_epoch)
       SELECT n, 1, n, 'teapot', 1000, 'CNY', 1000000, 1000000, 1, 3, 900000, 'gate', 1, 1 FROM generate_series(${ITEM}, ${ITEM} + 20) n`,
    )
    await client.query(
      `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
       SELECT 1000000 + n, ${ITEM} + n % 20, 'old-' || n, 1, 1, 1000, 'CNY', 'paid', 1, now(), now(), now() FROM generate_series(1, $1::int) n`,
      [orders],
    )
    await use({
      database,
      client,
      states: async () => (await client.query<IndexState>(INDEX_STATES)).rows.map(row => row.state),
      hasOld: async () =>
        (await client.query(`SELECT to_regclass('${OLD_ATTEMPT_INDEX}') IS NOT NULL AS there`)).rows[0].there === true,
    })
  } finally {
    await client.end()
    await database.close()
  }
}

const all = (state: IndexState['state']) => WANTED.map(() => state)
const builder = ({ database }: World, lockWaitMs?: number) => createIndexBuilder(database, systemClock, lockWaitMs)
const ask = (order: number, buyer: string) => ({
  order: String(order),
  buyer,
  attempt: 1,
  quantity: 1,
  reservedAtMs: 0,
})

/** A transaction that began before the build: it is waited for. */
async function olderTransaction(world: World): Promise<() => Promise<void>> {
  const older = await world.database.connect()
  await older.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM orders_0')
  return async () => {
    await older.query('COMMIT')
    await older.end()
  }
}

const builds = async ({ client }: World) =>
  (await client.query('SELECT pid FROM pg_stat_progress_create_index WHERE datname = current_database()')).rows.length

test('a ledger without orders gets them at once, and the index that they replace goes', () =>
  inLedger(0, async world => {
    expect(await world.states()).toEqual(all('missing'))
    expect(await builder(world).build(SILENT, NEVER)).toBe(0)
    expect(await world.states()).toEqual(all('built'))
    expect(await world.hasOld()).toBe(false)
    // The same attempt gets the same order, also after it was closed.
    const orders = createOrders(world.database)
    const place = (id: number) => orders.place(ITEM, 1, false, [ask(id, 'ann')])
    expect(await place(1)).toMatchObject({ placings: [{ verdict: 'placed' }] })
    await world.client.query("UPDATE orders SET state = 'closed', reason = 'cancelled', closed_at = now() WHERE id = 1")
    expect(await place(2)).toMatchObject({ placings: [{ verdict: 'refused' }] })
    const { rows } = await world.client.query(
      "SELECT id::int, superseded_by::int FROM orders WHERE buyer = 'ann' ORDER BY id",
    )
    expect(rows).toEqual([
      { id: 1, superseded_by: null },
      { id: 2, superseded_by: 1 },
    ])
  }))

test('a ledger with orders gets them while orders are placed, and keeps the old index for this release', () =>
  inLedger(ORDERS, async world => {
    const orders = createOrders(world.database)
    let built = false
    let placed = 0
    const placing = (async () => {
      for (let no = 0; !built || no < 20; no++) {
        const reply = await orders.place(ITEM, 1, false, [ask(100 + no, `new-${no}`)])
        expect(reply).toMatchObject({ placings: [{ verdict: 'placed' }] })
        placed += 1
      }
    })()
    const left = await builder(world)
      .build(SILENT, NEVER)
      .finally(() => {
        built = true
      })
    await placing
    expect(left).toBe(0)
    expect(await world.states()).toEqual(all('built'))
    expect(await world.hasOld()).toBe(true)
    const { rows } = await world.client.query("SELECT count(*)::int AS orders FROM orders WHERE buyer LIKE 'new-%'")
    expect(rows).toEqual([{ orders: placed }])
  }))

test('a build that was broken off leaves an invalid index, which is dropped and built again', () =>
  inLedger(ORDERS, async world => {
    const release = await olderTransaction(world)
    const stop = new AbortController()
    const broken = builder(world).build(SILENT, stop.signal)
    await until('an index under way', async () => (await world.states()).includes('invalid'))
    stop.abort()
    expect(await broken).toBeGreaterThan(0)
    // The server notices that the builder is gone, without an end of what it waited for.
    await until('the session that built is gone', async () => (await builds(world)) === 0)
    expect(await world.states()).toContain('invalid')
    await release()
    expect(await builder(world).build(SILENT, NEVER)).toBe(0)
    expect(await world.states()).toEqual(all('built'))
  }))

test('the old index stays while one that replaces it is invalid, also in a ledger without orders', () =>
  inLedger(0, async world => {
    const [{ name, table, on }] = WANTED.filter(({ unique }) => unique) as [(typeof WANTED)[number]]
    await world.client.query(`CREATE UNIQUE INDEX ${name} ON ${table} ${on}`)
    await world.client.query(
      `UPDATE pg_index SET indisvalid = false, indisready = false WHERE indexrelid = '${name}'::regclass`,
    )
    const older = await world.database.connect()
    await older.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM sales')
    await expect(builder(world, 100).build(SILENT, NEVER)).rejects.toMatchObject({ code: 'index_in_the_way' })
    expect(await world.hasOld()).toBe(true)
    await older.query('COMMIT')
    await older.end()
    expect(await builder(world).build(SILENT, NEVER)).toBe(0)
    expect(await world.states()).toEqual(all('built'))
  }))

test('those that are missing, or whose build was broken off, are named until they are there', () =>
  inLedger(ORDERS, async ({ database, client }) => {
    const builder = createIndexBuilder(database, systemClock)
    const names = WANTED.map(({ name }) => name)
    expect((await builder.missing()).toSorted()).toEqual(names.toSorted())
    await builder.build(SILENT, NEVER)
    expect(await builder.missing()).toEqual([])
    await client.query(`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${names[1]}'::regclass`)
    await client.query(`DROP INDEX ${names[2]}`)
    expect((await builder.missing()).toSorted()).toEqual([names[1]!, names[2]!].toSorted())
  }))

test('two processes build at once: one does, the other leaves it to that one', () =>
  inLedger(ORDERS, async world => {
    const release = await olderTransaction(world)
    const first = builder(world).build(SILENT, NEVER)
    await until('an index under way', async () => (await world.states()).includes('invalid'))
    expect(await builder(world).build(SILENT, NEVER)).toBe(
      WANTED.filter(({ table }) => /^orders_\d/.test(table)).length,
    )
    await release()
    expect(await first).toBe(0)
  }))

test('a build waits for an older transaction only so long, and says what to look for; the next one goes on', () =>
  inLedger(ORDERS, async world => {
    const release = await olderTransaction(world)
    const given = await builder(world, 100)
      .build(SILENT, NEVER)
      .catch((error: unknown) => error)
    expect(given).toBeInstanceOf(Fault)
    expect(given).toMatchObject({ code: 'index_in_the_way', retryable: true })
    // The statements are right meanwhile.
    expect(await createOrders(world.database).ofBuyer('old-7', undefined, 10)).toHaveLength(1)
    await release()
    expect(await builder(world).build(SILENT, NEVER)).toBe(0)
    expect(await world.states()).toEqual(all('built'))
  }))
