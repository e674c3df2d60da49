/**
 * The indexes of tables that may be large, which no migration can build in the start path. Every statement of `ledger/sql` is right without
 * them, and slow on a large ledger. Each partition of the orders has its own, without one on the parent: an item is in one partition, so a
 * unique index of each partition that holds the item is unique over all of them.
 */

export interface WantedIndex {
  readonly name: string
  readonly table: string
  readonly unique: boolean
  /** Columns, and which rows. */
  readonly on: string
}

/** `MODULUS` of the migration that made the partitions. */
const PARTITIONS = [0, 1, 2, 3] as const

/** The same promise as WANTED's `…_item_attempt`, with the buyer first: an order writes on a page anywhere in all history. */
export const OLD_ATTEMPT_INDEX = 'orders_attempt'

export const WANTED: readonly WantedIndex[] = [
  ...PARTITIONS.flatMap(no => {
    const table = `orders_${no}`
    return [
      // One order per item, buyer and attempt. The orders of an item lie together: a sale writes on few pages.
      {
        name: `${table}_item_attempt`,
        table,
        unique: true,
        on: "(item, buyer, attempt) WHERE reason IS DISTINCT FROM 'refused'",
      },
      // An item's orders in the order of their ids: snapshots, audits, results, exports.
      { name: `${table}_item_id`, table, unique: false, on: '(item, id)' },
      // A buyer's orders. Written when an order is paid or closed, not while it is placed.
      { name: `${table}_buyer_id`, table, unique: false, on: "(buyer, id) WHERE state <> 'pending'" },
    ]
  }),
  { name: 'payments_item_state', table: 'payments', unique: false, on: '(item, state)' },
  // What was captured and refunded, by day.
  ...(['payments', 'payments_archive'] as const).flatMap(table =>
    (['captured', 'refunded'] as const).map(what => ({
      name: `${table}_${what}`,
      table,
      unique: false,
      on: `(${what}_at) INCLUDE (provider, currency, amount_minor) WHERE ${what}_at IS NOT NULL`,
    })),
  ),
  { name: 'audit_log_order', table: 'audit_log', unique: false, on: '(order_id, id) WHERE order_id IS NOT NULL' },
]

/** Rows of IndexState. Invalid: a build was broken off, or is under way. Foreign: another session builds it right now. */
export const INDEX_STATES = `SELECT w.name,
    CASE WHEN x.indexrelid IS NULL THEN 'missing' WHEN x.indisvalid AND x.indisready THEN 'built' ELSE 'invalid' END AS state,
    EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = x.indexrelid AND p.pid <> pg_backend_pid()) AS foreign
  FROM (VALUES ${WANTED.map(({ name }, no) => `(${no}, '${name}')`).join(', ')}) AS w (no, name)
  LEFT JOIN pg_index x ON x.indexrelid = to_regclass(w.name)
  ORDER BY w.no`

export interface IndexState {
  readonly name: string
  readonly state: 'missing' | 'invalid' | 'built'
  readonly foreign: boolean
}
