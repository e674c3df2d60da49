/**
 * Which connections a statement may use. Every lane has a pool of its own, so that a statement waits only behind statements of its kind:
 *
 * placing   writes orders. Waits for item locks, and for nothing else.
 * protocol  fence reads, node leases and their confirmations (E2, E4). None of them waits for an item's lock.
 * work      everything else: money, closing, stock, sales, point reads. What has no entry below, and every transaction of several statements.
 * reads     lists, exports, audits and reports: their cost grows with what is asked for. A read that timed out is not tried again, because
 *           the second try would cost as much and find the ledger no less busy. Only so many may wait. They give way to placing, by turns
 *           (`read-turns.ts`). The timeout is that of the others: a sale gets its final report only if the orders and payments of each item can be
 *           compared in that time, up to 3 s for a million on a busy machine.
 *
 * The leader lock and migrations have connections of their own beside these.
 */

export type Lane = 'placing' | 'protocol' | 'work' | 'reads'

/** How many connections each lane has at most. */
export type LaneSizes = Readonly<Record<Lane, number>>

export const LANES: readonly Lane[] = ['placing', 'protocol', 'work', 'reads']

/** One process that sells alone. Twenty together. */
export const ALONE_LANES: LaneSizes = { placing: 6, protocol: 2, work: 7, reads: 5 }

interface LaneRules {
  readonly statementMsMax: number
  readonly repeatsTimeouts: boolean
  /** So many statements wait for a connection; one more gets a fault at once. */
  readonly waitingMax: number
}

const USUAL: LaneRules = { statementMsMax: 9_000, repeatsTimeouts: true, waitingMax: Number.POSITIVE_INFINITY }

export const LANE_RULES: Readonly<Record<Lane, LaneRules>> = {
  placing: USUAL,
  protocol: USUAL,
  work: USUAL,
  reads: { ...USUAL, repeatsTimeouts: false, waitingMax: 1_000 },
}

const STATEMENTS: Readonly<Record<Exclude<Lane, 'work'>, readonly string[]>> = {
  placing: ['place', 'place_together', 'place_directly', 'refuse_order'],
  protocol: [
    'followed_sales',
    'changed_sales',
    'available_units',
    'lease_node',
    'renew_node',
    'cut_leases',
    'give_back_node',
    'confirm_node',
    'unconfirmed_nodes',
    'holding_nodes',
    'now',
  ],
  reads: [
    'orders_of_buyer',
    'orders_of_sale',
    'orders_of_item',
    'audit',
    'live_orders',
    'payments_amiss',
    'sale_results',
    'takings',
    'reconciliations',
    'read_log',
    'read_events',
    'read_dead_letters',
    'ask_counts_of_others',
    'provider_counts_of_others',
    'open_payments',
    'list_webhooks',
    'webhook_deliveries',
  ],
}

/** Reads of one kind take turns in arrival order; kinds share the time. What is not named is a kind of its own, of short statements. */
const READ_KINDS: Readonly<Record<string, string>> = {
  orders_of_buyer: 'lists of buyers',
  orders_of_sale: 'exports',
  orders_of_item: 'exports',
  audit: 'audits',
  live_orders: 'audits',
  payments_amiss: 'audits',
  sale_results: 'audits',
  takings: 'audits',
}

export function readKindOf(statement: string): string {
  return READ_KINDS[statement] ?? 'short'
}

export const LANE_BY_STATEMENT: ReadonlyMap<string, Lane> = new Map(
  LANES.flatMap(lane => (lane === 'work' ? [] : STATEMENTS[lane].map(name => [name, lane] as const))),
)

export function laneOf(statement: string): Lane {
  return LANE_BY_STATEMENT.get(statement) ?? 'work'
}
