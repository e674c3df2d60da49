/** Closes orders that are not paid, refunds paid ones, and lists the units that the gate must release (E8). */

import type { BuyerId, Epoch, ItemId, OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'

export interface DueOrder {
  readonly id: OrderId
  readonly item: ItemId
  /** A payment was started: query the provider before closing the order. */
  readonly paymentStarted: boolean
}

/** A release that the gate has not done, with the epoch to release under (E8). */
export interface DueRelease {
  readonly order: OrderId
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
  /** `gone`: the attempt is closed, the units do not come back. */
  readonly outcome: 'closed' | 'gone'
  readonly epoch: Epoch
}

export type RefundOutcome = 'refunded' | 'same' | 'not_paid' | 'unknown'

export interface Closings {
  /** Pending orders whose `pay_by` has passed by the ledger's clock, longest overdue first, without those named. */
  due(max: number, without: readonly OrderId[]): Promise<readonly DueOrder[]>
  /** Closes those still pending (and due, when `unpaid`) and makes their units available. Returns the orders closed by this call. */
  close(item: ItemId, orders: readonly OrderId[], reason: 'unpaid' | 'cancelled'): Promise<readonly Order[]>
  refund(order: OrderId, item: ItemId, restock: boolean, by: string): Promise<RefundOutcome>
  /** At most `itemMax` of one item, and the oldest of every item before more of any. */
  releases(max: number, itemMax: number): Promise<readonly DueRelease[]>
  /** Of these orders only. */
  releasesOf(orders: readonly OrderId[]): Promise<readonly DueRelease[]>
  /** Removes them after the gate has done them. Returns how many this call removed: two processes may have released at the gate. */
  released(orders: readonly OrderId[]): Promise<number>
  /** Removes releases of items that no gate holds. */
  releaseIdle(): Promise<void>
}
