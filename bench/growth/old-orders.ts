/**
 * A ledger with a past: ended and settled sales, written straight into the tables with the ids, times and indexes that they would have. For
 * a hundred orders an item, ten items a sale; every tenth order is paid, with its payment and its callback; every buyer has ten orders, spread
 * over the years. `exported` orders more belong to one sale, for a report of that size.
 * Nothing here is random: the same number is the same ledger.
 */

import pg from 'pg'

export interface Past {
  readonly orders: number
  readonly exported: number
}

/** The sale with the `exported` orders, and its items. */
const EXPORTED_SALE = 'Old sale, to be exported'
const ORDERS_PER_ITEM = 100
const ITEMS_PER_SALE = 10
const ORDERS_PER_BUYER = 10
/** Ids in one transaction. */
const CHUNK = 100_000
const SESSIONS = 2
/** The sales are spread over the year that ended two days ago: whatever follows an end has happened. */
const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS

export function buyersIn({ orders }: Past): number {
  return orders / ORDERS_PER_BUYER
}

export function oldBuyer(no: number): string {
  return `old-${no}`
}

/** Refused before anything is written: a part of a sale would not add up. */
export function checkPast({ orders, exported }: Past): void {
  const step = ORDERS_PER_ITEM * ITEMS_PER_SALE
  for (const count of [orders, exported])
    if (!Number.isInteger(count / step)) throw new Error(`${count} old orders are not whole sales of ${step}`)
}

/** Into a ledger without sales. `connection` is for `pg`. */
export async function seedPast(
  connection: pg.ClientConfig,
  past: Past,
  nowMs: number,
  print: (line: string) => void,
): Promise<void> {
  checkPast(past)
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, async () => {
      const client = new pg.Client(connection)
      await client.connect()
      // Nothing is lost that could not be written again, and the checkpoint at the end makes it last.
      await client.query('SET synchronous_commit = off')
      return client
    }),
  )
  const [first] = sessions as [pg.Client]
  try {
    for (const text of helpers(past, nowMs)) await first.query(text)
    for (const text of wholeTables(past)) await first.query(text)
    const all = past.orders + past.exported
    let next = 0
    const work = async (client: pg.Client) => {
      while (next < all) {
        const [from, to] = [next, Math.min(all, next + CHUNK)]
        next = to
        for (const text of chunks(from, to)) await client.query(text)
        if (to % (10 * CHUNK) === 0) print(`${to.toLocaleString('en-GB')} old orders written`)
      }
    }
    await Promise.all(sessions.map(work))
    await first.query('DROP SCHEMA past CASCADE')
    await first.query('VACUUM (FREEZE, ANALYZE)')
    await first.query('CHECKPOINT')
  } finally {
    await Promise.all(sessions.map(client => client.end()))
  }
}

/** Is this past in the ledger already? A seeding that was interrupted has left its schema behind, and is not. */
export async function hasPast(client: pg.Client, past: Past): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT to_regnamespace('past') IS NULL AND (SELECT count(*)::int FROM sales WHERE name LIKE 'Old sale%') = $1 AS there`,
    [salesIn(past)],
  )
  return rows[0].there
}

/** The statement that finds the id of the exported sale. */
export function exportedSaleOf(): [text: string, values: readonly string[]] {
  return ['SELECT id::text AS id FROM sales WHERE name = $1', [EXPORTED_SALE]]
}

function salesIn({ orders, exported }: Past): number {
  return orders / ORDERS_PER_ITEM / ITEMS_PER_SALE + (exported > 0 ? 1 : 0)
}

/** Order k is of item `item_no(k)`, which is of sale `sale_no(item)`. Ids as `src/base/snowflake.ts` makes them, of nodes that are used by none. */
function helpers(past: Past, nowMs: number): string[] {
  const { orders, exported } = past
  const items = orders / ORDERS_PER_ITEM
  const sales = items / ITEMS_PER_SALE
  const stepMs = Math.floor(YEAR_MS / Math.max(1, salesIn(past)))
  const firstMs = nowMs - YEAR_MS - 2 * DAY_MS
  const exportedPerItem = Math.max(1, exported / ITEMS_PER_SALE)
  const sql = (name: string, args: string, result: string, body: string) =>
    `CREATE FUNCTION past.${name}(${args}) RETURNS ${result} LANGUAGE sql IMMUTABLE AS $$ SELECT ${body} $$`
  return [
    'CREATE SCHEMA past',
    sql(
      'item_no',
      'k bigint',
      'bigint',
      `CASE WHEN k < ${orders} THEN k / ${ORDERS_PER_ITEM} ELSE ${items} + (k - ${orders}) / ${exportedPerItem} END`,
    ),
    sql('sale_no', 'item bigint', 'bigint', `least(item / ${ITEMS_PER_SALE}, ${sales})`),
    sql('at_ms', 'sale bigint', 'bigint', `${firstMs} + sale * ${stepMs}`),
    sql('id', 'at_ms bigint, node int, no bigint', 'bigint', '((at_ms - 1704067200000) << 22) + (node << 12) + no'),
    sql('sale_id', 'sale bigint', 'bigint', 'past.id(past.at_ms(sale), 1000, 0)'),
    sql(
      'item_id',
      'item bigint',
      'bigint',
      `past.id(past.at_ms(past.sale_no(item)), 1000, 1 + item % ${ITEMS_PER_SALE})`,
    ),
    // A thousand ids a millisecond, of the sale's first minutes.
    sql(
      'order_id',
      'k bigint',
      'bigint',
      'past.id(past.at_ms(past.sale_no(past.item_no(k))) + 60000 + k % 1000000 / 1000, 1001, k % 1000)',
    ),
    sql(
      'buyer',
      'k bigint',
      'text',
      `CASE WHEN k < ${orders} THEN 'old-' || (k * 7919) % ${Math.max(1, buyersIn(past))} ELSE 'exported-' || k END`,
    ),
    sql('moment', 'ms bigint', 'timestamptz', 'to_timestamp(ms / 1000.0)'),
  ]
}

function wholeTables(past: Past): string[] {
  const { orders, exported } = past
  const sales = salesIn(past)
  const items = orders / ORDERS_PER_ITEM + (exported > 0 ? ITEMS_PER_SALE : 0)
  const perItem = (item: string) =>
    `CASE WHEN ${item} < ${orders / ORDERS_PER_ITEM} THEN ${ORDERS_PER_ITEM} ELSE ${exported / ITEMS_PER_SALE} END`
  const eachSale = `FROM generate_series(0::bigint, ${sales - 1}) AS s`
  return [
    `INSERT INTO sales (id, name, opens_at, closes_at, state, word_no, created_at)
     SELECT past.sale_id(s), CASE WHEN s < ${orders / ORDERS_PER_ITEM / ITEMS_PER_SALE} THEN 'Old sale ' || s ELSE '${EXPORTED_SALE}' END,
            past.moment(past.at_ms(s)), past.moment(past.at_ms(s) + 3600000), 'over', 2, past.moment(past.at_ms(s)) ${eachSale}`,
    `INSERT INTO items (id, sale, position, name, price_minor, currency, units, available, quantity_max, attempts_max, pay_within_ms,
                        door, epoch, gate_epoch, forgotten_epoch)
     SELECT past.item_id(i), past.sale_id(past.sale_no(i)), i % ${ITEMS_PER_SALE}, 'Old item ' || i, 19900, 'CNY',
            ${perItem('i')}, ${perItem('i')} * 9 / 10, 1, 1, 900000, 'shut', 1, 1, 1
     FROM generate_series(0::bigint, ${items - 1}) AS i`,
    `INSERT INTO reconciliations (sale, at, final, differences, repairs, summary)
     SELECT past.sale_id(s), past.moment(past.at_ms(s) + 7200000), true, '[]', '[]', '{}' ${eachSale}`,
    `INSERT INTO audit_log (at, by, action, sale)
     SELECT past.moment(past.at_ms(s)), 'bench', action, past.sale_id(s) ${eachSale}, unnest(ARRAY['sale.create', 'sale.publish']) AS action`,
    `INSERT INTO ask_counts (sale, process, since, asked, limited, sold_out, refused)
     SELECT past.sale_id(s), 'past', past.moment(past.at_ms(s)), 100000, 0, 90000, 0 ${eachSale}`,
  ]
}

function chunks(from: number, to: number): string[] {
  const each = `FROM generate_series(${from}::bigint, ${to - 1}) AS k`
  const at = 'past.at_ms(past.sale_no(past.item_no(k))) + 60000'
  const paid = 'k % 10 = 0'
  return [
    `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, epoch, reserved_at, placed_at, pay_by,
                         paid_at, closed_at, version)
     SELECT past.order_id(k), past.item_id(past.item_no(k)), past.buyer(k), 1, 1, 19900, 'CNY',
            CASE WHEN ${paid} THEN 'paid' ELSE 'closed' END, CASE WHEN ${paid} THEN NULL ELSE 'unpaid' END, 1,
            past.moment(${at}), past.moment(${at}), past.moment(${at} + 900000),
            CASE WHEN ${paid} THEN past.moment(${at} + 60000) END, CASE WHEN ${paid} THEN NULL ELSE past.moment(${at} + 900000) END, 2 ${each}`,
    `INSERT INTO payments (id, order_id, item, provider, ref, amount_minor, currency, state, started_at, captured_at, next_try_at)
     SELECT past.order_id(k) + 1000, past.order_id(k), past.item_id(past.item_no(k)), 'sandbox', 'past-' || k, 19900, 'CNY', 'captured',
            past.moment(${at}), past.moment(${at} + 60000), past.moment(${at}) ${each} WHERE ${paid}`,
    `INSERT INTO callbacks (provider, event, ref, outcome, at)
     SELECT 'sandbox', 'past-' || k, 'past-' || k, 'paid', past.moment(${at} + 60000) ${each} WHERE ${paid}`,
  ]
}
