/** Orders that end without being paid, paid ones that are taken back, and the units that must reach the gate again. */

import type { BuyerId, Epoch, ItemId, OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'

export interface DueOrder {
  readonly id: OrderId
  readonly item: ItemId
  /** A payment was started: the provider is asked before the order is closed. */
  readonly paymentStarted: boolean
}

/** A release row, with the epoch it must be told to the gate under (E8). */
export interface DueRelease {
  readonly order: OrderId
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
  /** `gone`: the attempt is closed, the units do not come back. */
  readonly outcome: 'closed' | 'gone'
  readonly epoch: Epoch
}

export interface Closings {
  /** Pending orders whose `pay_by` has passed by the ledger's clock, longest overdue first; without those in hand. */
  due(max: number, inHand: readonly OrderId[]): Promise<readonly DueOrder[]>
  /** Those that were still pending (and due, when `unpaid`) are closed, and their units available again. Returns these, and only these. */
  close(item: ItemId, orders: readonly OrderId[], reason: 'unpaid' | 'cancelled'): Promise<readonly Order[]>
  refund(
    order: OrderId,
    item: ItemId,
    restock: boolean,
    by: string,
  ): Promise<'refunded' | 'same' | 'not_paid' | 'unknown'>
  /** Of one item at most so many, and the oldest of each before more of any. */
  releases(max: number, itemMax: number): Promise<readonly DueRelease[]>
  /** Of these orders only. */
  releasesOf(orders: readonly OrderId[]): Promise<readonly DueRelease[]>
  /** How many of them were still to be released: two may have told the gate. */
  released(orders: readonly OrderId[]): Promise<number>
  /** Forgets release rows of items that no gate holds. */
  releaseIdle(): Promise<void>
}
