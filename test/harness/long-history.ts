/**
 * A ledger with a long history, written by SQL: ended sales with one item each, their orders, payments, reports and log lines. Beside them one
 * sale that is open. Statistics are as autovacuum leaves them.
 */

import type { Row } from '../../src/ledger/postgres/connection/database.ts'
import { EVENTS } from './history-statements.ts'

interface HistoryWish {
  readonly orders: number
  readonly sales: number
}

type Sql = (text: string, values?: unknown[]) => Promise<Row[]>

/** Ids of what is old begin here. Ids of the items and of their sales differ by SALES. */
const ITEMS = 20_000_000
const SALES = 10_000_000
const ORDERS = 1_000_000_000
/** Rows of one statement: each ends long before the client gives up. */
const STEP = 200_000

/** Every buyer has a few orders, of different items; the buyer `regular` has one of every hundredth item. */
export async function writeHistory(sql: Sql, { orders, sales }: HistoryWish) {
  await sql(
    `INSERT INTO sales (id, name, opens_at, closes_at, state)
     SELECT $1 + n, 'sale ' || n, now() - interval '30 days' - n * interval '1 minute', now() - interval '29 days' - n * interval '1 minute', 'ready'
     FROM generate_series(0, $2::int - 1) n`,
    [SALES, sales],
  )
  await sql(
    `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms, door, epoch, gate_epoch, forgotten_epoch)
     SELECT $1 + n, $2 + n, 1, 'teapot', 1000, 'CNY', 1000, 500, 1, 3, 900000, 'shut', 2, 1, 2 FROM generate_series(0, $3::int - 1) n`,
    [ITEMS, SALES, sales],
  )
  for (let from = 0; from < orders; from += STEP)
    await sql(
      `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, epoch, reserved_at, placed_at, pay_by, paid_at, closed_at)
       SELECT $1 + n, $2 + n % $3::int, CASE WHEN n % 100 = 0 AND n < $3::int THEN 'regular' ELSE 'buyer-' || n % ($4::int / 4 + 1) END, 1 + n / $3::int, 1, 1000, 'CNY',
              CASE WHEN n % 10 < 7 THEN 'paid' ELSE 'closed' END, CASE WHEN n % 10 = 9 THEN 'refused' WHEN n % 10 >= 7 THEN 'unpaid' END, 1,
              now() - interval '29 days', now() - interval '29 days', now() - interval '29 days',
              CASE WHEN n % 10 < 7 THEN now() - interval '29 days' END, CASE WHEN n % 10 >= 7 THEN now() - interval '29 days' END
       FROM generate_series($5::int, $6::int) n`,
      [ORDERS, ITEMS, sales, orders, from, Math.min(from + STEP, orders) - 1],
    )
  for (let from = 0; from < orders; from += STEP)
    await sql(
      `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, captured_at)
       SELECT id, id, item, 'sandbox', id::text, 1000, 'CNY', 'captured', now() - id % 400 * interval '1 day' FROM orders
       WHERE id BETWEEN $1::bigint + $2 AND $1::bigint + $3 AND state = 'paid' AND id % 2 = 0`,
      [ORDERS, from, from + STEP - 1],
    )
  await sql(
    `INSERT INTO reconciliations (sale, final, differences, repairs) SELECT id, true, '[]', '[]' FROM sales WHERE id >= $1`,
    [SALES],
  )
  await sql(
    `INSERT INTO audit_log (by, action, sale, item, order_id)
     SELECT 'op', 'order.refund', $1 + n % $2::int, $3 + n % $2::int, $4 + n FROM generate_series(0, $5::int / 10) n`,
    [SALES, sales, ITEMS, ORDERS, orders],
  )
  await sql(
    `INSERT INTO stock_changes (item, no, delta, taken, state, reason, by) SELECT id, 1, 5, 5, 'done', 'more', 'op' FROM items WHERE id >= $1`,
    [ITEMS],
  )
  await sql(
    `INSERT INTO callbacks (provider, event, ref, outcome) SELECT 'sandbox', id::text, ref, 'paid' FROM payments`,
  )
  await sql(
    `INSERT INTO ask_counts (sale, process, since, asked, limited, sold_out, refused) SELECT id, 'edge', now(), 1, 0, 0, 0 FROM sales`,
  )
  await sql(
    `INSERT INTO idempotency (key, call, body_hash, subject) SELECT id::text, 'sale.create', 'hash', id FROM sales WHERE id >= $1`,
    [SALES],
  )
  await sql(`INSERT INTO node_items (node, holder, item, epoch) SELECT 7, 'gone', id, 1 FROM items WHERE id >= $1`, [
    ITEMS,
  ])
  await sql(`INSERT INTO nodes (id, holder, until_ms, lease_until) VALUES (7, 'gone', 0, now() - interval '1 day')`)
  // The final reports above were events, swept long ago. As many as a few days leave, all numbered.
  await sql('DELETE FROM events')
  await sql(
    `INSERT INTO events (first, type, items, orders, at)
     SELECT 1 + n, 'order.placed', ARRAY[$1 + n % $2::int], ARRAY[$3 + n % $4::int], now() - interval '1 day' FROM generate_series(0, $5::int - 1) n`,
    [ITEMS, sales, ORDERS, orders, EVENTS],
  )
  await sql('UPDATE event_head SET last = $1', [EVENTS])
  await sql('VACUUM ANALYZE')
  return { sale: String(SALES + 7), item: String(ITEMS + 7), order: String(ORDERS + 7), buyer: 'buyer-7' }
}
