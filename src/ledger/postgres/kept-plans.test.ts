/** A connection plans a statement once and keeps the plan. What was cheap on an empty ledger must still be cheap in the rush that fills it. */

import { beforeAll, expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { createIndexBuilder } from './indexes/index-builder.ts'

const RUSH = 20_000
const BUYERS = 64
/** Of 8 KiB. A partition with these orders has some four hundred, each of its indexes about eighty. */
const BLOCKS_OF_ONE = 10
const BLOCKS_OF_IDLE = 40
/** PostgreSQL compares plans for the first five times, then keeps one. */
const TIMES = 10

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

const ledger = ledgerForFile()
beforeAll(() => createIndexBuilder(ledger.database, systemClock).build(SILENT, new AbortController().signal), 120_000)

/** Blocks of orders and of their indexes that were looked at, as PostgreSQL counts them. */
async function blocks(): Promise<number> {
  const [row] = await ledger.sql(
    `SELECT coalesce(sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read), 0)::int AS blocks
     FROM pg_statio_user_tables WHERE relname ~ '^orders_[0-9]$'`,
  )
  return row!.blocks as number
}

/** Asks until the connection has reported its counts, which it does once a second, after a statement. */
async function reported(ask: () => Promise<unknown>) {
  const before = await blocks()
  let times = 0
  const now = await until('the counts of these reads', async () => {
    await ask()
    times += 1
    const now = await blocks()
    return now > before ? now : undefined
  })
  return { each: (now - before) / times }
}

/** How many blocks it takes to ask once, with the plan that is kept. */
async function blocksOf(ask: () => Promise<unknown>): Promise<number> {
  await ledger.sql('SELECT pg_stat_force_next_flush()')
  for (let i = 0; i < TIMES; i++) await ask()
  // What was counted before is in the first report.
  await reported(ask)
  return (await reported(ask)).each
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
  // A page of orders, as an operator's first try leaves it: reading all of it is the cheapest plan.
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
  expect(await blocksOf(ask)).toBeLessThan(BUYERS * BLOCKS_OF_ONE)
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
  // A sample of a few hundred rows shows one item, as the usual sample does of a million orders.
  await ledger.sql('SET default_statistics_target = 1')
  await ledger.sql('VACUUM ANALYZE orders')
  await ledger.sql('RESET default_statistics_target')
  const ask = () => ledger.database.run('audit', [idle.sale, -1, 50_000])
  expect(await ask()).toMatchObject([{ item: idle.item, units: 3 }])
  expect(await blocksOf(ask)).toBeLessThan(BLOCKS_OF_IDLE)
}, 120_000)
