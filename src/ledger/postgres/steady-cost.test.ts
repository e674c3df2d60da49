/** What the keeper asks the ledger several times a second must cost the same, however many orders and payments wait that are not due yet. */

import { beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'

const WAITING = 20_000
/** Of 8 KiB. Reading all waiting rows takes several times as many. */
const BLOCKS_MAX = 60

interface Plan {
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
}

const ledger = ledgerForFile()
beforeAll(async () => {
  // As the server's own connections plan.
  await ledger.sql('SET enable_seqscan = off; SET jit = off')
  const { item, epoch } = await ledger.openItem({ units: WAITING })
  await ledger.sql(
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
     SELECT 9000000000 + n, $1, 'buyer-' || n, 1, 1, 1000, 'CNY', 'pending', $2, now(), now(), now() + n * interval '1 second' + interval '1 hour'
     FROM generate_series(1, $3::int) n`,
    [item, epoch, WAITING],
  )
  await ledger.sql(
    `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, next_try_at)
     SELECT id + 50000, id, item, 'sandbox', id::text, 1000, 'CNY', 'started', now() + interval '1 minute' FROM orders WHERE item = $1`,
    [item],
  )
  // As autovacuum leaves it, whenever it comes: the planner knows how much there is.
  await ledger.sql('VACUUM ANALYZE orders, payments, releases, items, sales, stock_changes')
}, 300_000)

/** How many blocks a statement of `ledger/sql` reads. Its changes are rolled back. */
async function blocksOf(statement: string, values: readonly string[]): Promise<number> {
  const text = readFileSync(new URL(`../sql/${statement}.sql`, import.meta.url), 'utf8')
  await ledger.sql('BEGIN')
  await ledger.sql(`PREPARE steady AS ${text}`)
  await ledger.sql('SET LOCAL plan_cache_mode = force_generic_plan')
  const call = values.length === 0 ? 'steady' : `steady (${values.join(', ')})`
  const [row] = await ledger.sql(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${call}`)
  await ledger.sql('ROLLBACK')
  await ledger.sql('DEALLOCATE steady')
  const [{ Plan: plan }] = row!['QUERY PLAN'] as [{ Plan: Plan }]
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
}

test.each([
  ['due_orders', ['500', "'{sandbox}'", "'{}'"]],
  ['due_started_orders', ["'{sandbox,house}'", "'{50,50}'", "'{}'", "'{}'"]],
  ['claim_payments', ["'{started,refund_due,refund_due}'", '\'{sandbox,sandbox,""}\'', "'{50,50,50}'", "'{}'"]],
  ['releases', ['5000', '500']],
  ['open_changes', ['NULL']],
  ['open_moves', []],
  ['followed_sales', []],
  ['reopen_reports', []],
  ['sales_to_settle', ['0', '20']],
  ['unsettled_items', ['0', '100']],
  ['items_to_forget', ['0', '60000', '100']],
])('%s reads a few blocks while 20,000 rows wait', async (statement, values) => {
  const blocks = await blocksOf(statement, values)
  console.log(`  ${statement}: ${blocks} blocks`)
  expect(blocks).toBeLessThanOrEqual(BLOCKS_MAX)
})

test('what is due among them is found', async () => {
  await ledger.sql("UPDATE orders SET pay_by = now() - interval '1 second' WHERE id IN (9000000007, 9000000009)")
  const rooms = [{ lane: 'sandbox', room: 500 }]
  const started = await ledger.closings.dueStarted(rooms, [], [])
  const [item = ''] = started.map(order => order.item)
  expect(started.map(order => order.id).sort()).toEqual(['9000000007', '9000000009'])
  const ids = async (due: Promise<readonly { readonly id: string }[]>) => (await due).map(order => order.id)
  expect(await ids(ledger.closings.dueStarted(rooms, ['9000000007', '1'], []))).toEqual(['9000000009'])
  expect(await ids(ledger.closings.dueStarted(rooms, [], [item]))).toEqual([])
  expect(await ids(ledger.closings.dueStarted([{ lane: 'sandbox', room: 1 }], [], []))).toHaveLength(1)
  expect(await ids(ledger.closings.due(500, ['sandbox'], []))).toEqual([])
  expect(await ids(ledger.closings.due(500, ['house'], []))).toEqual(
    expect.arrayContaining(['9000000007', '9000000009']),
  )
  expect(await ids(ledger.closings.due(500, ['house'], [item]))).toEqual([])
})

test('releases: what waits for one gate that is away is not read again and again for the sake of the others', async () => {
  const { item } = await ledger.openItem()
  await ledger.sql(
    `INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome)
     SELECT id, item, buyer, 1, 1, 'closed' FROM orders WHERE id > 9000000000
     UNION ALL SELECT 1, $1, 'ann', 1, 1, 'closed'`,
    [item],
  )
  await ledger.sql('VACUUM ANALYZE releases')
  const blocks = await blocksOf('releases', ['5000', '500'])
  console.log(`  releases: ${blocks} blocks`)
  expect(blocks).toBeLessThanOrEqual(BLOCKS_MAX)
  expect((await ledger.closings.releases(5_000, 500)).filter(release => release.item === item)).toHaveLength(1)
})
