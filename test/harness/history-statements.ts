/**
 * Every statement of `src/ledger/sql`, with what bounds it. `CHECKED`: run on a ledger with a long history, with these values, and its blocks are
 * counted. `BOUNDED`: not run; the reason why history does not make it slower. A statement that is in neither, or in both, fails the test.
 */

/** Rows that the values below name: an ended sale, its item, one of its orders, and the sale that is open. */
export interface Known {
  readonly oldSale: string
  readonly oldItem: string
  readonly oldOrder: string
  readonly buyer: string
  readonly sale: string
  readonly item: string
  readonly epoch: number
}

/** Numbered events of the long history. */
export const EVENTS = 20_000

/** Values as SQL writes them. */
export const checked = ({
  oldSale,
  oldItem,
  oldOrder,
  buyer,
  sale,
  item,
  epoch,
}: Known): readonly (readonly [string, ...string[]])[] => [
  ['orders_of_buyer', `'${buyer}'`, 'NULL', '100'],
  ['orders_of_buyer', `'regular'`, 'NULL', '20'],
  ['orders_of_buyer', `'stranger'`, 'NULL', '100'],
  ['orders_of_buyers', `'{${oldItem},${item}}'`, `'{${buyer},ann}'`],
  ['orders_of_sale', sale, 'NULL', 'NULL', 'NULL', '100'],
  ['orders_of_sale', oldSale, 'NULL', 'NULL', 'NULL', '100'],
  ['orders_of_sale', oldSale, `'paid'`, `'${buyer}'`, 'NULL', '100'],
  ['newest_orders', 'NULL', 'NULL', 'NULL', '21', '21'],
  ['newest_orders', 'NULL', `'closed'`, 'NULL', '1000', '21'],
  ['newest_orders', sale, 'NULL', 'NULL', '101', '101'],
  ['newest_orders', oldSale, `'paid'`, 'NULL', '1000', '101'],
  // Bounded by the number of orders they may read: here a tenth of what the server asks for.
  ['count_orders', 'NULL', 'NULL', '1000'],
  ['count_orders', 'NULL', `'pending'`, '1000'],
  ['count_orders', 'NULL', `'closed'`, '1000'],
  ['count_orders', oldSale, `'paid'`, '1000'],
  ['orders_of_item', item, 'NULL', 'NULL', '100'],
  ['orders_of_item', oldItem, `'paid'`, 'NULL', '100'],
  ['find_orders', `'{${oldOrder},1}'`],
  ['payments_of_orders', `'{${oldOrder},1}'`],
  ['find_payment', `'sandbox'`, `'${oldOrder}'`],
  ['audit', sale, '-1', '50000'],
  ['audit', oldSale, '-1', '50000'],
  ['sale_results', sale, '-1', '50000'],
  ['sale_results', oldSale, '-1', '50000'],
  ['first_order', sale],
  ['first_order', oldSale],
  ['sale_figures', sale, '-1', '50000', '0'],
  ['sale_figures', oldSale, '-1', '50000', '1800000000000'],
  ['payments_amiss', sale, '-1', '50000'],
  ['payments_amiss', oldSale, '-1', '50000'],
  ['live_orders', item, '0', '10000'],
  ['snapshot_page', item, '0', '5000'],
  ['snapshot_page', oldItem, '0', '5000'],
  ['snapshot_pages', `ARRAY[${item}, ${oldItem}]`, '501'],
  ['release_ids', item],
  ['holds_of_sale', sale, 'NULL', '1000'],
  ['holds_of_sale', oldSale, '60000', '1000'],
  ['list_holds', sale, 'NULL', 'NULL', 'NULL', 'NULL', '100'],
  ['list_holds', oldSale, 'NULL', 'NULL', 'NULL', 'NULL', '100'],
  ['group_holds', oldSale, '20'],
  ['sweep_holds', '100'],
  ['fill_parcels', `'{${oldOrder}}'`, `'{${oldItem}}'`, `'{${buyer}}'`, `'{NULL}'`, `ARRAY['{"email":"a@b.example"}']`],
  ['change_contact', oldOrder, oldItem, `'${buyer}'`, `'{"email":"a@b.example"}'`],
  ['parcels_of', `'{${oldOrder}}'`],
  ['orders_by_contact', `'a@b.example'`, 'NULL', '1000'],
  ['sweep_parcels', '500', '1000'],
  ['followed_sales'],
  ['changed_sales', 'pg_current_snapshot()', '(extract(epoch FROM now()) * 1000000)::bigint', 'true'],
  ['sales_changed_since', 'pg_current_snapshot()'],
  ['list_sales', 'false', '20'],
  ['find_sale', oldSale],
  ['items_to_forget', '0', '60000', '100'],
  ['sales_to_settle', '0', '50'],
  ['unsettled_items', '0', '100'],
  ['reopen_reports'],
  ['reconciliations', oldSale, '10'],
  ['save_automatic_reconciliation', sale, "'[]'", "'[]'"],
  ['save_reconciliation', sale, 'true', "'[]'", "'[]'", 'NULL'],
  ['shut_idle_items', `'{${item}}'`],
  ['read_log', '0', 'NULL', 'NULL', '100'],
  ['read_log', '0', oldSale, 'NULL', '100'],
  ['read_log', '0', 'NULL', oldOrder, '100'],
  ['read_dead_letters', '9223372036854775807', '100'],
  ['due_orders', '500', "'{sandbox}'", "'{}'"],
  ['due_started_orders', "'{sandbox}'", "'{50}'", "'{}'", "'{}'"],
  ['claim_payments', "'{started,refund_due}'", "'{sandbox,sandbox}'", "'{50,50}'", "'{}'"],
  ['look_again', "'{sandbox}'", "'{50}'", "'{}'"],
  ['stuck_payments', '5', "'{sandbox}'", "'{}'", '60000'],
  ['start_payment', '5', oldOrder, "'sandbox'", '10', "'page'"],
  ['keep_payment_page', oldOrder, "'h'", "'u'", "'q'", 'true'],
  ['decline_payment', oldOrder, "'e'"],
  ['capture', "'sandbox'", `'${oldOrder}'`, '1000', "'CNY'", '0'],
  ['capture_order', '9', "'own'", oldOrder, "'r'", '1000', "'CNY'", '0', '5'],
  ['confirm_refund', "'own'", oldOrder, "'r'", 'NULL', "'b'"],
  ['decide_capture', oldOrder],
  ['releases', '5000', '500'],
  ['releases_of', `'{${oldOrder}}'`],
  ['missing_indexes', "'{orders_0_item_id}'"],
  ['release_idle'],
  ['open_changes', 'NULL'],
  ['open_moves'],
  ['ask_counts_of_others', oldSale, "'me'"],
  ['unconfirmed_nodes', `'{${item}}'`, "'{1}'"],
  ['settle_items', `'{${item}}'`, "'{0}'"],
  ['place', item, `${epoch}`, 'false', "'{5}'", "'{new}'", "'{1}'", "'{1}'", "'{0}'"],
  ['place', item, `${epoch}`, 'false', "'{6}'", "'{ann}'", "'{1}'", "'{1}'", "'{0}'"],
  ['refuse_order', item, `${epoch}`, '7', `'${buyer}'`, '1', '1', '0'],
  ['close_orders', oldItem, `'{${oldOrder}}'`, "'unpaid'", "'100'"],
  ['close_orders', item, "'{5}'", "'cancelled'", "'100'"],
  ['refund_order', oldOrder, oldItem, 'false', "'op'", 'NULL'],
  ['refund_part', '8', oldOrder, oldItem, '1', "'CNY'", 'false', 'NULL', "'op'"],
  ['takings', `ARRAY[now() - interval '11 days', now() - interval '10 days']`],
  ['open_payments', '4'],
  ['provider_counts_of_others', "'me'"],
  ['refusal_counts_of_others', "'me'"],
  ['claim_refund_parts', '\'{sandbox,""}\'', "'{50,50}'", "'{}'"],
  ['refund_parts_of_orders', `'{${oldOrder},1}'`],
  ['event_head'],
  ['event_at', `now() - interval '2 days'`],
  ['event_at', 'now()'],
  ['count_changed_orders', '100', '1000', 'now()', 'NULL', 'NULL', 'NULL', 'NULL'],
  ['count_changed_orders', '100', '10', `now() - interval '2 days'`, oldSale, `'paid'`, '1', `'${buyer}'`],
  ['number_events', '100'],
  ['read_events', '0', '10'],
  ['read_events', `${EVENTS - 30}`, '10'],
  ['note_opened_sales', '20'],
  ['note_closing_soon', '60000', '500'],
  ['sweep_events', '60000', '20'],
  ['remember_key', "'sale.create'", "'a key'", "'hash'", '1'],
  ['record_callback', "'sandbox'", "'event'", "'ref'", "'paid'"],
]

const BY_KEY = 'one row, or the rows named, by the primary key'
const LEASES = 'at most 1,024 rows'
const COMMAND = "an operator's command (retention, erasure), bounded by its page or its buyer"
const PAGE = 'one page of one item, by the bounds of its ids'
const ALERTS = 'troubles that are on, and messages of a week, 5,000 at most'
const WEBHOOKS = 'some 32 endpoints, each with a bounded number of deliveries, by their key'
const OF_LINE = 'one line, by its sale and the numbers or buyers named, or one page of it'
const SANDBOX = 'the sandbox, which forgets what is old'

export const BOUNDED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['access_entries', 'add_access_entry', 'remove_access_entry'].map(name => [name, 'the list has a most of entries']),
  ),
  ...Object.fromEntries(
    [
      ...[
        'available_units',
        'ask_change',
        'clear_draft',
        'create_sale',
        'delete_sale',
        'edit_sale',
        'end_move',
        'find_change',
      ],
      ...[
        'lock_sale',
        'move_payment',
        'stop_looking',
        'move_sale',
        'open_ledger_door',
        'raise_epoch',
        'released',
        'save_ask_counts',
      ],
      ...[
        'set_door',
        'set_forgotten',
        'settle_change',
        'snapshot_terms',
        'spread_item',
        'take_move',
        'warm_sale_now',
        'write_dead_letter',
      ],
      ...[
        'write_log',
        'ask_move',
        'settle_refund_part',
        'save_provider_counts',
        'save_refusal_counts',
        'write_holds',
        'note_traces',
        'sweep_traces',
        'find_traces',
      ],
    ].map(name => [name, BY_KEY]),
  ),
  ...Object.fromEntries(
    ['cut_leases', 'give_back_node', 'holding_nodes', 'lease_node', 'renew_node', 'settle_nodes'].map(name => [
      name,
      LEASES,
    ]),
  ),
  ...Object.fromEntries(
    [
      'delete_archived',
      'delete_callbacks',
      'delete_sale_of_archive',
      'erase_buyer',
      'lock_items',
      'sales_to_delete',
    ].map(name => [name, COMMAND]),
  ),
  ...Object.fromEntries(
    [
      'add_sandbox_payment',
      'count_sandbox_payments',
      'forget_sandbox_payments',
      'read_sandbox_payment',
      'replace_sandbox_payment',
    ].map(name => [name, SANDBOX]),
  ),
  ...Object.fromEntries(
    [
      ...['create_webhook', 'list_webhooks', 'change_webhook', 'delete_webhook', 'rotate_webhook_secret'],
      ...['webhook_secrets', 'webhook_deliveries', 'resend_deliveries', 'claim_webhook_sender', 'webhooks_to_send'],
      ...['waiting_deliveries', 'queue_deliveries', 'settle_deliveries', 'expire_deliveries', 'sweep_deliveries'],
    ].map(name => [name, WEBHOOKS]),
  ),
  ...Object.fromEntries(
    [
      ...['open_line', 'line_states', 'lock_line', 'joins_of_buyers', 'end_joins', 'add_joins', 'joins_after'],
      ...['open_draw', 'line_draws', 'seal_draw', 'set_beacon', 'set_drawn', 'take_claims', 'claims_of_line'],
      ...['leaves_after', 'line_steps', 'let_in', 'steer_line'],
    ].map(name => [name, OF_LINE]),
  ),
  ...Object.fromEntries(
    ['note_troubles', 'open_alert_channels', 'alert_channels', 'claim_alerts', 'settle_alerts'].map(name => [
      name,
      ALERTS,
    ]),
  ),
  find_image: BY_KEY,
  item_descriptions: BY_KEY,
  add_image: 'the images, 2,000 at most',
  joins_with_order: 'the orders of one sale with a line, while people are let in; the ledger rests between two reads',
  archive_orders: PAGE,
  recall_item: PAGE,
  confirm_node: 'the items that the process follows, by the primary key',
  place_directly: 'as place; needs the ledger door',
  place_together: 'calls place for each item',
  items_to_archive: 'read every ten minutes, page by page; the items whose orders are not archived yet',
  mend_changed: 'rows that name a transaction of another server, by an index; none in a ledger that was not copied',
  index_progress: 'the sessions of the server',
  set_doors_if_free: BY_KEY,
  items_rights: BY_KEY,
  sale_states: BY_KEY,
  snapshot_terms_if_free: BY_KEY,
  find_sales: BY_KEY,
  raise_epochs_if_free: BY_KEY,
  trial_sale: 'one sale and one item, in a transaction that is rolled back',
  now: 'reads the clock',
}
