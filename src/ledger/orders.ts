/**
 * Orders in the ledger. The ledger is the truth: what it has committed is sold, and nothing else is.
 * Every verb is idempotent by order id. A fault with `outcomeUnknown` means: it may have been committed; repeat it with the same ids.
 */

import type { BuyerId, Epoch, ItemId, OrderId, SaleId } from '../domain/ids.ts'
import type { Order, OrderState } from '../domain/order.ts'

/** A reservation to be placed. */
export interface PlaceAsk {
  readonly order: OrderId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
  readonly reservedAtMs: number
}

/**
 * placed       the order row is committed, now
 * same         it was committed before, under this id
 * refused      a row closed/refused is committed instead (too few available, or another order of the buyer exists)
 * id_conflict  the id belongs to another buyer's order: nothing was written. A bug or an attack; alarm
 */
export type Placing =
  | { readonly verdict: 'placed' | 'same' | 'refused'; readonly order: Order }
  | { readonly verdict: 'id_conflict' }

export type PlaceReply =
  | { readonly status: 'ok'; readonly available: number; readonly placings: readonly Placing[] }
  /** Another epoch owns the item (E5). Nothing was written. */
  | { readonly status: 'stale' }

/**
 * An ask that went straight to the ledger, behind the `ledger` door. Only `placed` writes a row.
 * same         this id, this attempt, or another live order of this buyer exists
 * id_conflict  the id belongs to another buyer's order
 * not_now      no order of this buyer exists, and the window or the operator forbids a new one
 */
export type DirectPlacing =
  | { readonly verdict: 'placed' | 'same'; readonly order: Order }
  | { readonly verdict: 'not_enough' | 'attempts_used' | 'id_conflict' | 'not_now' }

/** The window is judged by the ledger's clock, under the item lock. */
export type DirectReply =
  | {
      readonly status: 'ok' | 'early' | 'over' | 'paused'
      readonly available: number
      readonly placings: readonly DirectPlacing[]
    }
  /** The door is not `ledger`, or the epoch is another (E5). Nothing was written. */
  | { readonly status: 'stale' }

export interface OrderQuery {
  readonly sale: SaleId
  readonly state?: OrderState
  readonly buyer?: BuyerId
  readonly after?: OrderId
  readonly limit: number
}

/** Over all sales, or of one, newest first. */
interface NewestQuery {
  readonly sale?: SaleId | undefined
  readonly state?: OrderState | undefined
  readonly before?: OrderId | undefined
  readonly limit: number
}

/** `more`: counting ended at its bound, there may be others. */
export interface BoundedCount {
  readonly count: number
  readonly more: boolean
}

export interface Orders {
  /** A batch of one item, decided in arrival order, in one transaction. `acknowledged`: the buyers were told "reserved" already. */
  place(item: ItemId, epoch: Epoch, acknowledged: boolean, asks: readonly PlaceAsk[]): Promise<PlaceReply>
  /** Straight into the ledger, decided in arrival order: only while the door is `ledger` and the epoch is this one (E5, E10). */
  placeDirectly(item: ItemId, epoch: Epoch, asks: readonly PlaceAsk[]): Promise<DirectReply>
  /**
   * A reservation that can't be placed for a reason of its own becomes an order that is closed/refused. The same id again changes nothing:
   * the existing order is returned. Undefined: the id is another buyer's, or no row can hold it.
   */
  refuse(item: ItemId, epoch: Epoch, ask: PlaceAsk): Promise<Order | undefined>
  find(ids: readonly OrderId[]): Promise<readonly Order[]>
  /** Every order of these buyers and items, refusals aside, in no particular order. */
  ofBuyers(keys: readonly { readonly item: ItemId; readonly buyer: BuyerId }[]): Promise<readonly Order[]>
  ofBuyer(buyer: BuyerId, after: OrderId | undefined, limit: number): Promise<readonly Order[]>
  list(query: OrderQuery): Promise<readonly Order[]>
  /** `next`: the cursor for `before`; undefined at the end. A bounded number of orders is read, so a page of a rare state may be short. */
  newest(query: NewestQuery): Promise<{ readonly orders: readonly Order[]; readonly next: OrderId | undefined }>
  /** Exact up to `max`, unless a state is so rare that the orders read hold fewer: `more` says so. */
  count(query: Pick<NewestQuery, 'sale' | 'state'>, max: number): Promise<BoundedCount>
  /** An item's orders in the order of their ids, a page behind `after`. */
  ofItem(item: ItemId, query: Pick<OrderQuery, 'state' | 'after' | 'limit'>): Promise<readonly Order[]>
}

interface DueOrder {
  readonly id: OrderId
  readonly item: ItemId
}

/** A payment was started: query the provider before closing the order. */
export interface DueStartedOrder extends DueOrder {
  readonly provider: string
}

/** A release that the gate has not done, with the epoch to release under (E8). */
export interface DueRelease extends Pick<PlaceAsk, 'order' | 'buyer' | 'attempt'> {
  readonly item: ItemId
  /** `gone`: the attempt is closed, the units do not come back. */
  readonly outcome: 'closed' | 'gone'
  readonly epoch: Epoch
  /** Since the closing, by the ledger's clock; 0 if that clock was set back. */
  readonly ageMs: number
}

export type RefundOutcome = 'refunded' | 'same' | 'not_paid' | 'unknown'

/** Closes orders that are not paid, refunds paid ones, and lists the units that the gate must release (E8). */
export interface Closings {
  /**
   * Pending orders whose `pay_by` has passed by the ledger's clock and that have no payment started at one of these providers, longest
   * overdue first, without those of the items named.
   */
  due(max: number, providers: readonly string[], withoutItems: readonly ItemId[]): Promise<readonly DueOrder[]>
  /** Those that have one, of each provider the longest overdue, without those named. Each order once. */
  dueStarted(
    rooms: readonly { readonly lane: string; readonly room: number }[],
    without: readonly OrderId[],
    withoutItems: readonly ItemId[],
  ): Promise<readonly DueStartedOrder[]>
  /** Closes those still pending (and due, when `unpaid`) and makes their units available. Returns the orders closed by this call. */
  close(item: ItemId, orders: readonly OrderId[], reason: 'unpaid' | 'cancelled'): Promise<readonly Order[]>
  /** What parts have left of its money becomes due to go back. */
  refund(order: OrderId, item: ItemId, restock: boolean, by: string, reason?: string): Promise<RefundOutcome>
  /** At most `itemMax` of one item, and the oldest of every item before more of any. */
  releases(max: number, itemMax: number): Promise<readonly DueRelease[]>
  /** Of these orders only. */
  releasesOf(orders: readonly OrderId[]): Promise<readonly DueRelease[]>
  /** Removes them after the gate has done them. Returns how many this call removed: two processes may have released at the gate. */
  released(orders: readonly OrderId[]): Promise<number>
  /** Removes releases of items that no gate holds. */
  releaseIdle(): Promise<void>
}
