/** What audits and reconciliation read and keep: units by state, live orders, payments that do not fit their orders, and reports. */

import type { ItemId, OrderId, SaleId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'

/** Units by state, read in one statement together with the item. */
export interface ItemAudit extends Pick<Item, 'units' | 'available' | 'door' | 'epoch' | 'gateEpoch'> {
  readonly item: ItemId
  readonly pending: number
  readonly paid: number
  readonly closed: number
  /** Units back in the ledger, not yet in the gate, and how long the oldest of them has waited. */
  readonly releases: number
  readonly oldestReleaseMs: number | undefined
  /** Units written off together with their order, whose attempt the gate has not closed yet. */
  readonly gone: number
  /** At most so many units are between two shards: taken from one, not yet given to the other. */
  readonly moving: number
  /** Orders that were ever placed or paid, and reservations that could not be placed. */
  readonly ordersPlaced: number
  readonly ordersRefused: number
  readonly ordersPaid: number
}

export type PaymentAmiss =
  | { readonly kind: 'captured_unpaid'; readonly payment: string; readonly order: OrderId; readonly item: ItemId }
  | { readonly kind: 'paid_uncaptured'; readonly order: OrderId }
  | { readonly kind: 'part_uncaptured'; readonly payment: string; readonly order: OrderId }

export interface Report {
  readonly differences: readonly Readonly<Record<string, unknown>>[]
  readonly repairs: readonly Readonly<Record<string, unknown>>[]
}

/**
 * asked      an operator asked for it; all are kept
 * automatic  it ran by itself; of a sale the last one without a difference and the last one with some are kept
 * final      the sale is over and settled; one for each sale
 */
type ReportKind = 'asked' | 'automatic' | 'final'

interface KeptReport extends Report {
  readonly atMs: number
  readonly final: boolean
  readonly summary: unknown
}

export interface Reconciliation {
  audit(sale: SaleId): Promise<readonly ItemAudit[]>
  /** Ids of live orders, and of orders whose release the gate has not done. */
  held(item: ItemId): Promise<{ readonly live: ReadonlySet<OrderId>; readonly releasing: ReadonlySet<OrderId> }>
  paymentsAmiss(sale: SaleId): Promise<readonly PaymentAmiss[]>
  save(sale: SaleId, kind: ReportKind, report: Report, summary?: unknown): Promise<void>
  reports(sale: SaleId, max: number): Promise<readonly KeptReport[]>
  /** Final reports of sales that are not over are final no more. Returns these sales. */
  reopen(): Promise<readonly SaleId[]>
  /** Sales that are over, with no order or unit still moving, and without a final report. A page: in the order of their ids, behind `after`. */
  toSettle(after: SaleId, max: number): Promise<readonly SaleId[]>
  /**
   * Items of sales that ended over an hour ago and have no final report: a gate that was away may still hold reservations of them. A page, as
   * above.
   */
  unsettledItems(
    after: ItemId,
    max: number,
  ): Promise<readonly Pick<Item, 'id' | 'shards' | 'gateEpoch' | 'gateShards'>[]>
  /** Items of sales that are over, with a final report of at least this age, which a gate may still have. A page, as above. */
  toForget(
    after: ItemId,
    afterMs: number,
    max: number,
  ): Promise<readonly { readonly id: ItemId; readonly sale: SaleId }[]>
  /** Orders, units and revenue of each item. */
  results(sale: SaleId): Promise<readonly Readonly<Record<string, unknown>>[]>
}
