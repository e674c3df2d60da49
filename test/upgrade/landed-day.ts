/**
 * A day of the landed version at the ledger: every SQL statement it has, in the order of a sale, from the draft to the final report.
 * The answers are written down without times, so that the same day on two ledgers can be compared: a statement that fails, or answers
 * less or something else than before, was broken by a migration. The statements run one after the other; versions that run at the same
 * time are tested in the cluster (`test/cluster/upgrade.test.ts`).
 */

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'

/** The statements of a version, by name. */
export function statementsIn(root: string): ReadonlyMap<string, string> {
  const folder = join(root, 'src/ledger/sql')
  return new Map(
    readdirSync(folder)
      .toSorted()
      .map(file => [basename(file, '.sql'), readFileSync(join(folder, file), 'utf8')]),
  )
}

type Step = readonly [statement: string, ...values: unknown[]]

/** One connection: its prepared statements stay prepared, as in a process that keeps running. */
interface Connection {
  query(config: { name: string; text: string; values: unknown[] }): Promise<{ rows: Record<string, unknown>[] }>
}

interface Answered {
  readonly statement: string
  /** Rows without times, sorted; or the error. */
  readonly answer: readonly unknown[] | string
}

/** Plays the day with that number: its sales, orders and payments are its own. */
export async function playDay(
  connection: Connection,
  statements: ReadonlyMap<string, string>,
  day: number,
): Promise<Answered[]> {
  const answers: Answered[] = []
  for (const [statement, ...values] of theDay(day)) {
    const text = statements.get(statement)
    if (text === undefined) throw new Error(`the landed version has no statement ${statement}: take it out of the day`)
    const answer = await connection.query({ name: statement, text, values }).then(
      ({ rows }) =>
        rows.map(row => withoutClocks(row)).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      (error: unknown) => String(error),
    )
    answers.push({ statement, answer })
  }
  return answers
}

/** Where the second ledger answers less, or something else. More columns are no complaint: the landed version does not read them. */
export function complaints(before: readonly Answered[], after: readonly Answered[]): readonly string[] {
  return before.flatMap(({ statement, answer }, i) => {
    const now = after[i]?.answer
    return holds(answer, now) ? [] : [`${statement}: ${JSON.stringify(answer)} has become ${JSON.stringify(now)}`]
  })
}

function holds(old: unknown, now: unknown): boolean {
  if (typeof old !== 'object' || old === null) return old === now
  if (typeof now !== 'object' || now === null || Array.isArray(old) !== Array.isArray(now)) return false
  if (Array.isArray(old) && old.length !== (now as unknown[]).length) return false
  return Object.entries(old).every(([key, value]) => holds(value, (now as Record<string, unknown>)[key]))
}

const MOMENT = /^\d{4}-\d\d-\d\dT/
/** Larger than every count of the day: such a number is a time in milliseconds. */
const MOMENT_MS = 1e12

/** Times in milliseconds that are no moments since 1970. */
const MOMENTS = new Set(['oldest_release_ms', 'due_in_ms', 'give_up_in_ms', 'waiting_ms'])
/** Names of a connection, a server or a transaction: others on every ledger. */
const NAMES = new Set(['seen', 'ledger', 'session', 'now_us'])

function withoutClocks(value: unknown, key = ''): unknown {
  if (NAMES.has(key)) return 'a name'
  if (MOMENTS.has(key) || (typeof value === 'number' && value > MOMENT_MS)) return 'a moment'
  if (key.endsWith('_ms') && Number(value) > MOMENT_MS) return 'a moment'
  if (typeof value === 'string') return MOMENT.test(value) ? 'a moment' : value
  if (Array.isArray(value)) return value.map(one => withoutClocks(one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutClocks(one, name)]))
}

const HOUR_MS = 3_600_000
/** The wall clock of the process that leases a node id: any time is accepted that does not go back. */
const WALL_MS = 1_800_000_000_000

function theDay(day: number): readonly Step[] {
  const nowMs = Math.round(systemClock.now())
  const id = (no: number) => String(day * 10_000 + no)
  const [sale, draft, gated, direct, brief, shut, cheap] = [id(1), id(2), id(11), id(12), id(13), id(14), id(15)]
  const [ann, ben, cyd, dee, eve] = ['ann', 'ben', 'cyd', 'dee', 'eve']
  const wallMs = WALL_MS + day * HOUR_MS
  const edge = `edge-${day}`
  // The lowest free node id: the process of the day before has given it back.
  const node = 0
  const hook = id(901)
  // One sender a day.
  const term = day + 1
  const item = (no: string, position: number, more: object = {}) => ({
    ...{
      id: no,
      position,
      sku: null,
      name: 'teapot',
      image: null,
      price_minor: 1000,
      list_price_minor: null,
      currency: 'CNY',
    },
    ...{
      units: 10,
      quantity_max: 5,
      attempts_max: 3,
      pay_within_ms: 900_000,
      when_gate_down: 'ledger',
      home_door: 'gate',
    },
    ...{ shards: 1, ...more },
  })
  // Times, the rule, and the terms.
  const window = [nowMs - HOUR_MS, nowMs + HOUR_MS, 0, 'first_come', '{}']
  const ask = (...asks: [no: number, buyer: string | undefined, attempt: number, quantity: number][]) => [
    asks.map(([no]) => id(no)),
    asks.map(([, buyer]) => buyer),
    asks.map(([, , attempt]) => attempt),
    asks.map(([, , , quantity]) => quantity),
    asks.map(() => nowMs),
  ]
  const items = [
    item(gated, 0),
    item(direct, 1, { home_door: 'ledger' }),
    item(brief, 2, { pay_within_ms: 1 }),
    item(shut, 3),
    item(cheap, 4),
  ]
  return [
    // An operator prepares.
    ['now'],
    ['remember_key', 'POST /sales', `key-${day}`, 'hash', sale],
    ['remember_key', 'POST /sales', `key-${day}`, 'other', draft],
    ['create_sale', sale, 'autumn', ...window, JSON.stringify(items), 'ops'],
    ['create_sale', draft, 'draft', ...window, JSON.stringify([item(id(21), 0)]), 'ops'],
    ['lock_sale', draft],
    ['clear_draft', draft],
    ['edit_sale', draft, 'edited', ...window, JSON.stringify([item(id(22), 0)]), 'ops', '{"field":"name"}'],
    ['find_sale', draft],
    ['delete_sale', draft, 'ops'],
    ['move_sale', sale, ['draft'], 'ready', 'ops', 'sale.publish'],
    ['warm_sale_now', sale, 'ops'],
    ['list_sales', true, 20],
    ['add_access_entry', id(701), 'deny', 'buyer', `mal-${day}`, null, 'resold', 'ops', 1000],
    ['access_entries', 0],
    ['remove_access_entry', id(701), 'ops'],
    // An edge comes, a keeper builds the gates.
    ['lease_node', edge, wallMs, 30_000, 0, 'holding', 500],
    ['renew_node', node, edge, wallMs + 1, 30_000],
    ['cut_leases', 30_000],
    ['raise_epoch', gated, '1000'],
    ['unconfirmed_nodes', [gated], [1]],
    ['confirm_node', node, edge, [gated], [1]],
    ['unconfirmed_nodes', [gated], [1]],
    ['holding_nodes'],
    ['snapshot_terms', gated, 1],
    ['snapshot_page', gated, '0', 10],
    ['set_door', gated, 1, 'gate'],
    ...[direct, brief].flatMap((one): Step[] => [
      ['raise_epochs_if_free', [one]],
      ['snapshot_terms', one, 1],
      ['spread_item', one, one === brief ? 2 : 1],
      ['set_door', one, 1, one === direct ? 'ledger' : 'gate'],
    ]),
    ['open_ledger_door', shut, 'ops'],
    ['raise_epochs_if_free', [cheap]],
    ['snapshot_terms_if_free', [cheap], [1]],
    ['snapshot_pages', [cheap, gated], 10],
    ['set_doors_if_free', [cheap], [1], ['gate']],
    ['items_rights', [gated, shut, cheap]],
    ['available_units', [gated, direct]],
    ['sale_states', [sale]],
    ['find_sales', [sale]],
    ['followed_sales'],
    ['changed_sales', '3:3:', 0, true],
    ['mend_changed'],
    ['missing_indexes', ['orders_0_item_id', 'no_such_index']],
    ['index_progress'],
    ['trial_sale', id(31), 10],
    ['note_opened_sales', 20],
    // Buyers buy: the first time, again with the same id, with an order already, under an epoch that has passed.
    ['place', brief, 1, true, ...ask([150, eve, 1, 2])],
    ['place', gated, 1, true, ...ask([101, ann, 1, 1], [102, ben, 1, 2], [103, cyd, 1, 1])],
    ['place', gated, 1, true, ...ask([101, ann, 1, 1])],
    ['place', gated, 1, true, ...ask([104, ann, 1, 1], [105, dee, 1, 5], [106, eve, 1, 5])],
    ['place', gated, 9, false, ...ask([107, eve, 1, 1])],
    ['place_together', [gated, brief], [1, 1], [true, true], [1, 2], ...ask([110, 'fay', 1, 1], [151, ann, 1, 1])],
    ['place_directly', direct, 1, ...ask([120, ann, 1, 1], [121, ben, 1, 5])],
    ['place_directly', direct, 1, ...ask([122, ann, 1, 1], [123, dee, 4, 1], [124, eve, 1, 5])],
    ['refuse_order', gated, 1, id(108), eve, 1, 1, nowMs],
    ['find_orders', [id(101), id(104), id(120)]],
    ['orders_of_buyers', [gated, direct], [ann, ben]],
    ['orders_of_buyer', ann, null, 4],
    ['orders_of_sale', sale, null, null, null, 50],
    ['live_orders', gated, '0', 20],
    ['snapshot_page', gated, '0', 10],
    ['orders_of_item', gated, null, null, 10],
    ['write_dead_letter', gated, 1, '1-0', id(109), '{"buyer":"x"}', 'unreadable'],
    ['read_dead_letters', '9223372036854775807', 10],
    // Units move from one shard to another; a second move of the item waits for the first, and may be called off.
    ['ask_move', brief, 1, 0, 1, 2, 1000],
    ['ask_move', brief, 1, 1, 0, 1, 1000],
    ['take_move', brief, 1, 2],
    ['open_moves'],
    ['end_move', brief, 1, 'done'],
    ['ask_move', brief, 1, 1, 0, 1, 1000],
    ['end_move', brief, 2, 'void'],
    ['open_moves'],
    // Money comes, goes back, comes too late.
    ['start_payment', id(501), id(101), 'sandbox', 20, null],
    ['keep_payment_page', id(501), 'handle', 'https://pay.example/1', null, true],
    ['decline_payment', id(501), `decline-${day}`],
    ['capture', 'sandbox', id(501), 1000, 'CNY', nowMs],
    ['capture', 'sandbox', id(501), 1000, 'CNY', nowMs],
    ['record_callback', 'sandbox', `event-${day}`, id(501), 'paid'],
    ['find_payment', 'sandbox', id(501)],
    ['start_payment', id(502), id(102), 'sandbox', 20, 'card'],
    ['move_payment', id(502), 'started', 'void', 'declined', nowMs + HOUR_MS],
    ['look_again', ['sandbox'], [10], []],
    ['stop_looking', id(502)],
    ['start_payment', id(503), id(103), 'sandbox', 20, null],
    ['close_orders', gated, [id(102), id(103)], 'cancelled', '0'],
    ['capture', 'sandbox', id(503), 1000, 'CNY', nowMs],
    ['refund_order', id(101), gated, true, 'ops', null],
    ['claim_payments', ['refund_due', 'started'], ['sandbox', ''], [10, 10], []],
    ['stuck_payments', 0, ['sandbox'], ['shop'], HOUR_MS],
    ['open_payments', 4],
    ['move_payment', id(501), 'refund_due', 'refunded', null, null],
    ['move_payment', id(503), 'refund_due', 'refunded', null, null],
    // The shop takes money itself, and gives it back in parts.
    ['capture_order', id(504), 'shop', id(121), `till-${day}`, 5000, 'CNY', nowMs, 5],
    ['capture_order', id(505), 'shop', id(121), `till-${day}`, 5000, 'CNY', nowMs, 5],
    ['refund_part', id(601), id(121), direct, 1000, 'CNY', false, 'scratched', 'ops'],
    ['refund_part', id(602), id(121), direct, 9000, 'CNY', false, null, 'ops'],
    ['refund_part', id(602), id(121), direct, 1000, 'CNY', false, null, 'ops'],
    ['claim_refund_parts', ['shop', ''], [10, 10], []],
    ['confirm_refund', 'shop', id(121), `till-${day}`, id(601), `back-${day}`],
    ['settle_refund_part', id(602)],
    ['refund_order', id(121), direct, true, 'ops', 'the rest'],
    ['confirm_refund', 'shop', id(121), `till-${day}`, null, `rest-${day}`],
    ['refund_parts_of_orders', [id(121)]],
    ['takings', [new Date(nowMs - HOUR_MS), new Date(nowMs + HOUR_MS)]],
    ['save_provider_counts', `process-${day}`, ['sandbox'], ['{"starts":1}']],
    ['provider_counts_of_others', 'another'],
    ['payments_of_orders', [id(101), id(102), id(103)]],
    ['payments_amiss', sale, -1, 50_000],
    ['decide_capture', id(501)],
    ['add_sandbox_payment', id(501), '{"a":1}', nowMs, false],
    ['replace_sandbox_payment', id(501), '{"a":1}', '{"a":2}', true],
    ['read_sandbox_payment', id(501)],
    ['count_sandbox_payments'],
    ['forget_sandbox_payments', nowMs + 1, 10],
    // Units come back, and the operator changes the stock.
    ['due_orders', 10, ['sandbox'], [gated]],
    ['due_started_orders', ['sandbox'], [10], [id(151)], [gated]],
    ['close_orders', brief, [id(150)], 'unpaid', '1000'],
    ['releases', 10, 5],
    ['releases_of', [id(101), id(102), id(150)]],
    ['release_ids', gated],
    ['audit', sale, -1, 50_000],
    ['released', [id(101), id(102), id(103), id(150)]],
    ['ask_change', gated, 5, 'more', 'ops', `stock-${day}`, 1, 'gate'],
    ['open_changes', gated],
    ['settle_change', gated, 1, 1, 5, 1, 'gate'],
    ['ask_change', gated, -2, 'fewer', 'ops', null, 9, 'gate'],
    ['ask_change', gated, -2, 'fewer', 'ops', null, null, null],
    ['settle_change', gated, 2, 1, -2, null, null],
    ['find_change', gated, 2],
    ['ask_change', direct, 1, 'one more', 'ops', null, null, null],
    // A final report that came too early is opened again. Then it ends.
    ['save_automatic_reconciliation', sale, '[]', '[]'],
    ['save_automatic_reconciliation', sale, '[]', '[]'],
    ['save_reconciliation', sale, true, '[]', '[]', '{"orders":0}'],
    ['reopen_reports'],
    ['audit', sale, -1, 50_000],
    ['move_sale', sale, ['ready', 'paused'], 'over', 'ops', 'sale.end'],
    ['close_orders', gated, [id(105), id(110)], 'cancelled', '0'],
    ['close_orders', brief, [id(151)], 'cancelled', '0'],
    ['close_orders', direct, [id(120), id(121), id(124)], 'cancelled', '0'],
    ['shut_idle_items', []],
    ['release_idle'],
    ['sales_to_settle', '0', 10],
    ['sale_results', sale, -1, 50_000],
    ['save_reconciliation', sale, true, '[]', '[]', '{"orders":1}'],
    ['reconciliations', sale, 5],
    ['unsettled_items', '0', 10],
    ['items_to_forget', '0', 0, 10],
    ['raise_epoch', gated, '1000'],
    ['set_forgotten', gated, 3],
    ['write_log', 'ops', 'order.cancel', sale, gated, id(102), '{}'],
    ['read_log', '0', sale, null, 100],
    ['save_ask_counts', `process-${day}`, [sale], [new Date(nowMs)], [9], [1], [2], [3]],
    ['save_ask_counts', `process-${day}`, [sale], [new Date(nowMs)], [8], [1], [2], [3]],
    ['ask_counts_of_others', sale, 'another'],
    ['settle_items', [gated], [nowMs]],
    // The shop is told: events get their numbers, an endpoint comes, changes and goes.
    ['note_closing_soon', 0, 10],
    ['number_events', 100],
    ['event_head'],
    ['read_events', '0', 10],
    ['create_webhook', hook, 'https://shop.example/hook', 'shop.example', ['order.paid'], 0, 'secret', 'ops', 32],
    ['rotate_webhook_secret', hook, 'newer secret', HOUR_MS, 'ops'],
    ['webhook_secrets', hook],
    ['change_webhook', hook, null, null, null, 'active', 'ops', HOUR_MS],
    ['claim_webhook_sender'],
    ['webhooks_to_send'],
    ['queue_deliveries', term, hook, 0, 9, 0, HOUR_MS, [1, 2], ['order.paid', 'order.paid'], [id(101), id(102)]],
    ['waiting_deliveries', hook, 10],
    [
      ...([
        'settle_deliveries',
        term,
        hook,
        null,
        true,
        [1, 2],
        [1, 1],
        ['delivered', 'waiting'],
        [0, HOUR_MS],
      ] as const),
      ...[
        [200, 500],
        [null, 'status'],
        [null, null],
        ['ok', 'no'],
        [1, 2],
      ],
    ],
    ['expire_deliveries', term, hook],
    ['resend_deliveries', hook, 1, 'ops', HOUR_MS],
    ['webhook_deliveries', hook, null, null, 10],
    ['sweep_deliveries', term, hook, 0, 10, 10],
    ['list_webhooks', null],
    ['delete_webhook', hook, 'ops'],
    ['sweep_events', 1_000 * HOUR_MS, 10],
    // Long afterwards: the archive, and what is deleted or erased.
    ['items_to_archive', '0', 0, false, 10],
    ['archive_orders', brief, 0, 10],
    ['find_orders', [id(150)]],
    ['recall_item', brief, 10],
    ['lock_items', sale, null],
    ['erase_buyer', ben, 'ops'],
    ['sales_to_delete', '0', 0, 10, 100],
    ['delete_sale_of_archive', sale, 0, 'ops'],
    ['delete_archived', 10],
    ['delete_callbacks', 1_000 * HOUR_MS, 10],
    ['settle_nodes', nowMs],
    ['give_back_node', node, edge, wallMs + 5],
  ]
}
