/** A connection plans a statement once and keeps the plan. What was cheap on an empty ledger must still be cheap in the rush that fills it. */

import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'

const RUSH = 20_000
const BUYERS = 64
/** PostgreSQL compares plans for the first five times, then keeps one. */
const TIMES = 10

const ledger = ledgerForFile()

/** Rows of orders that were read by going through a whole partition, and how often one was read in any way, as PostgreSQL counts it. */
async function reads(): Promise<{ readonly rowsOfWhole: number; readonly times: number }> {
  const [row] = await ledger.sql(
    `SELECT coalesce(sum(seq_tup_read), 0)::int AS rows, coalesce(sum(seq_scan + idx_scan), 0)::int AS times
     FROM pg_stat_user_tables WHERE relname ~ '^orders_[0-9]$'`,
  )
  return { rowsOfWhole: row!.rows as number, times: row!.times as number }
}

/** Asks until the connection has reported its counts, which it does once a second, after a statement. */
async function reported(ask: () => Promise<unknown>) {
  const before = await reads()
  return until('the counts of these reads', async () => {
    await ask()
    const now = await reads()
    return now.times > before.times ? now : undefined
  })
}

/** Rows read by whole partitions while `ask` is asked again and again. */
async function rowsOfWhole(ask: () => Promise<unknown>): Promise<number> {
  await ledger.sql('SELECT pg_stat_force_next_flush()')
  for (let i = 0; i < TIMES; i++) await ask()
  const before = await reported(ask)
  return (await reported(ask)).rowsOfWhole - before.rowsOfWhole
}

async function rush({ item, epoch }: { readonly item: string; readonly epoch: number }, orders: number): Promise<void> {
  await ledger.sql(
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
     SELECT $1::bigint * 100000 + n, $1, 'rush-' || n, 1, 1, 1000, 'CNY', 'pending', $2, now(), now(), now() + interval '1 hour'
     FROM generate_series(1, $3::int) n`,
    [item, epoch, orders],
  )
}

test('a buyer is looked up by an index in the first rush of a new ledger', async () => {
  const on = await ledger.openItem({ units: RUSH })
  // A page of orders, as after somebody has tried it out: reading all of it is the cheapest plan.
  await ledger.sql(
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
     SELECT n, $1, 'first-' || n, 1, 1, 1000, 'CNY', 'pending', $2, now(), now(), now() + interval '1 hour' FROM generate_series(1, 10) n`,
    [on.item, on.epoch],
  )
  await ledger.sql('VACUUM ANALYZE orders')
  // As many as click at once: the plan for any number costs less then, and is kept.
  const keys = Array.from({ length: BUYERS }, (_, i) => ({ item: on.item, buyer: `rush-${i + 1}` }))
  const ask = () => ledger.orders.ofBuyers(keys)
  for (let i = 0; i < TIMES; i++) expect(await ask()).toEqual([])
  await rush(on, RUSH)
  expect(await ask()).toHaveLength(BUYERS)
  expect(await rowsOfWhole(ask)).toBe(0)
}, 120_000)

test('an audit of an idle item reads none of the orders of the item beside it that has nearly all', async () => {
  const partitionOf = async (item: string) => {
    const [row] = await ledger.sql('SELECT tableoid::regclass::text AS name FROM orders WHERE item = $1 LIMIT 1', [
      item,
    ])
    return row!.name
  }
  const hot = await ledger.openItem({ units: RUSH })
  await rush(hot, RUSH)
  const open = async () => {
    const idle = await ledger.openItem({ units: 3 })
    await rush(idle, 3)
    return (await partitionOf(idle.item)) === (await partitionOf(hot.item)) ? idle : undefined
  }
  const idle = await until('an item in the same partition', open)
  await ledger.sql('VACUUM ANALYZE orders')
  const ask = () => ledger.database.run('audit', [idle.sale, -1, 50_000])
  expect(await ask()).toMatchObject([{ item: idle.item, units: 3 }])
  expect(await rowsOfWhole(ask)).toBe(0)
}, 120_000)
