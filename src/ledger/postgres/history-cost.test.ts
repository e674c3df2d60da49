/** History costs the running system nothing: no statement reads a whole partition, or more the more orders, payments and sales have been. */

import { beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { BOUNDED, checked, type Known } from '../../../test/harness/history-statements.ts'
import { writeHistory } from '../../../test/harness/long-history.ts'
import { systemClock } from '../../base/clock.ts'
import { createIndexBuilder } from './indexes/index-builder.ts'

/** `HISTORY_ORDERS` of the long form: the bound below is the same. */
const ORDERS = Number(process.env.HISTORY_ORDERS ?? 120_000)
const SALES = ORDERS / 10
/** Of 8 KiB. A partition has about a thousand, each of its indexes some hundred. */
const BLOCKS_MAX = 150
const FOLDER = join(import.meta.dirname, '../sql')
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
/** Without its limit this one is planned for a tenth of all sales. PostgreSQL sees that the plan for the values costs less, and keeps to that. */
const NEVER_GENERIC = new Set(['list_sales'])
/** These count or list all orders of the item that is asked for, or a page of them; of holds, all live ones. */
const COUNTS_AN_ITEM = new Set([
  'holds_of_sale',
  'list_holds',
  'group_holds',
  'audit',
  'sale_results',
  'sale_figures',
  'payments_amiss',
  'live_orders',
  'snapshot_page',
  'orders_of_sale',
])
const PENDING = 20_000
const NAMES = readdirSync(FOLDER).map(file => basename(file, '.sql'))
const NONE: Known = { oldSale: '', oldItem: '', oldOrder: '', buyer: '', sale: '', item: '', epoch: 0 }

const ledger = ledgerForFile()
let known: Known = NONE
beforeAll(async () => {
  // As the server's own connections plan.
  await ledger.sql('SET enable_seqscan = off; SET jit = off')
  await createIndexBuilder(ledger.database, systemClock).build(SILENT, new AbortController().signal)
  const old = await writeHistory(ledger.sql, { orders: ORDERS, sales: SALES })
  const live = await ledger.openItem({ units: 1_000 })
  await ledger.orders.place(live.item, live.epoch, false, [ledger.ask('ann'), ledger.ask('ben')])
  known = { oldSale: old.sale, oldItem: old.item, oldOrder: old.order, buyer: old.buyer, ...live }
}, 600_000)

type Mode = 'force_generic_plan' | 'force_custom_plan'

async function blocksOf(statement: string, values: readonly string[], mode: Mode): Promise<number> {
  const [{ Plan: plan }] = await explain('ANALYZE, BUFFERS', statement, values, mode)
  return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
}

const planOf = async (...asked: [statement: string, values: readonly string[], mode: Mode]) =>
  JSON.stringify(await explain('COSTS OFF', ...asked))

async function explain(how: string, statement: string, values: readonly string[], mode: Mode) {
  const text = readFileSync(join(FOLDER, `${statement}.sql`), 'utf8')
  await ledger.sql('BEGIN')
  try {
    await ledger.sql(`PREPARE one AS ${text}`)
    await ledger.sql(`SET LOCAL plan_cache_mode = ${mode}`)
    const call = values.length === 0 ? 'one' : `one (${values.join(', ')})`
    const [row] = await ledger.sql(`EXPLAIN (${how}, FORMAT JSON) EXECUTE ${call}`)
    return row!['QUERY PLAN'] as [{ Plan: Record<string, number> }]
  } finally {
    await ledger.sql('ROLLBACK')
    await ledger.sql('DEALLOCATE ALL')
  }
}

test('every statement is checked below, or is listed with what bounds it', () => {
  const tried = new Set(checked(NONE).map(([name]) => name))
  const listed = [...tried, ...Object.keys(BOUNDED)]
  expect(NAMES.filter(name => !listed.includes(name))).toEqual([])
  expect(listed.filter(name => !NAMES.includes(name))).toEqual([])
  expect(Object.keys(BOUNDED).filter(name => tried.has(name))).toEqual([])
})

test('an erasure looks its buyer up, and reads no partition of orders as a whole', async () => {
  const erasure = [
    ['lock_items', 'NULL', `'${known.buyer}'`],
    ['lock_items', known.oldSale, 'NULL'],
    ['erase_buyer', `'${known.buyer}'`, `'ops'`],
  ] as const
  for (const [name, ...values] of erasure)
    for (const mode of ['force_generic_plan', 'force_custom_plan'] as const)
      expect(await planOf(name, values, mode), `${name}, ${mode}`).not.toMatch(/Seq Scan[^{}]*"orders_\d"/)
})

test(`no statement reads more than ${BLOCKS_MAX} blocks beside ${ORDERS} old orders`, async () => {
  const slow: string[] = []
  for (const [name, ...values] of checked(known))
    for (const mode of ['force_generic_plan', 'force_custom_plan'] as const) {
      if (mode === 'force_generic_plan' && NEVER_GENERIC.has(name)) continue
      // The first run of a statement in a session also reads the catalog, inside functions too.
      await blocksOf(name, values, mode)
      const blocks = await blocksOf(name, values, mode)
      if (blocks > BLOCKS_MAX) slow.push(`${name} (${values.join(', ')}), ${mode}: ${blocks} blocks`)
    }
  expect(slow).toEqual([])
}, 300_000)

/** A connection plans a statement once and keeps the plan. In a rush tables are not analysed, so a plan of the quiet hours before it stays. */
test(`no plan that was made while no order was pending reads more than ${BLOCKS_MAX} blocks beside ${PENDING} pending ones`, async () => {
  const leftOut = new Set([...COUNTS_AN_ITEM, ...NEVER_GENERIC])
  const statements = checked(known).filter(([name]) => !leftOut.has(name))
  const call = ([, ...values]: readonly string[], no: number) =>
    `EXECUTE kept_${no}${values.length === 0 ? '' : ` (${values.join(', ')})`}`
  const undone = async (text: string) => {
    await ledger.sql('BEGIN')
    try {
      return await ledger.sql(text)
    } finally {
      await ledger.sql('ROLLBACK')
    }
  }
  // Statistics without a pending order, as they are before the first sale of a day.
  await ledger.sql('DELETE FROM orders WHERE item = $1', [known.item])
  await ledger.sql('VACUUM ANALYZE orders')
  await ledger.sql('SET plan_cache_mode = force_generic_plan')
  try {
    for (const [no, statement] of statements.entries()) {
      await ledger.sql(`PREPARE kept_${no} AS ${readFileSync(join(FOLDER, `${statement[0]}.sql`), 'utf8')}`)
      await undone(call(statement, no))
    }
    await ledger.sql(
      `INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
       SELECT 2000000000 + n, $1, 'rush-' || n, 1, 1, 1000, 'CNY', 'pending', 1, now(), now(), now() + interval '1 hour' FROM generate_series(1, $2::int) n`,
      [known.item, PENDING],
    )
    const slow: string[] = []
    for (const [no, statement] of statements.entries()) {
      const [row] = await undone(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${call(statement, no)}`)
      const [{ Plan: plan }] = row!['QUERY PLAN'] as [{ Plan: Record<string, number> }]
      const blocks = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
      if (blocks > BLOCKS_MAX) slow.push(`${statement.join(' ')}: ${blocks} blocks`)
    }
    expect(slow).toEqual([])
  } finally {
    await ledger.sql('RESET plan_cache_mode; DEALLOCATE ALL')
    await ledger.sql('DELETE FROM orders WHERE item = $1', [known.item])
  }
}, 300_000)
