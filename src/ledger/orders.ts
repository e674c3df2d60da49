/**
 * Orders in the ledger, as the flows need them. The ledger is the truth: what it has committed is sold, and nothing else is.
 * Every verb is idempotent by order id. A fault with `outcomeUnknown` means: it may have been committed; ask again with the same ids.
 */

import type { BuyerId, Epoch, ItemId, OrderId, SaleId } from '../domain/ids.ts'
import type { Order, OrderState } from '../domain/order.ts'

/** A reservation on its way into the ledger. */
export interface PlaceAsk {
  readonly order: OrderId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
  readonly reservedAtMs: number
}

/**
 * placed   the order row is committed, now
 * same     it was committed before, under this very id
 * refused  a row closed/refused is committed instead (too few available, another order stands)
 * foreign  the id belongs to another buyer's order: nothing was written. A bug or an attack; alarm
 */
export type Placing =
  | { readonly verdict: 'placed'; readonly order: Order }
  | { readonly verdict: 'same'; readonly order: Order }
  | { readonly verdict: 'refused'; readonly order: Order }
  | { readonly verdict: 'id_conflict' }

export type PlaceReply =
  | { readonly status: 'ok'; readonly available: number; readonly placings: readonly Placing[] }
  /** Another epoch owns the item (E5). Nothing was written. */
  | { readonly status: 'stale' }

/** What became of an ask that went straight to the ledger, behind the `ledger` door. Only `placed` writes a row. */
export type DirectPlacing =
  | { readonly verdict: 'placed'; readonly order: Order }
  /** This id, this attempt, or another live order of this buyer stands already. */
  | { readonly verdict: 'same'; readonly order: Order }
  | { readonly verdict: 'not_enough' }
  | { readonly verdict: 'attempts_used' }
  /** The id belongs to another buyer's order. */
  | { readonly verdict: 'id_conflict' }
  /** No order of this buyer, and the window or the operator forbids a new one. */
  | { readonly verdict: 'not_now' }

/** The window is judged by the ledger's clock, under the item lock. */
export type DirectReply =
  | {
      readonly status: 'ok' | 'early' | 'over' | 'paused'
      readonly available: number
      readonly placings: readonly DirectPlacing[]
    }
  /** The door is not `ledger`, or the epoch is another (E5). Nothing was written. */
  | { readonly status: 'stale' }

/** One attempt of one buyer. */
export interface AttemptKey {
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
}

export interface OrderQuery {
  readonly sale: SaleId
  readonly state?: OrderState
  readonly buyer?: BuyerId
  readonly after?: OrderId
  readonly limit: number
}

export interface Orders {
  /** A batch of one item, decided in arrival order, in one transaction. `acknowledged`: the buyers were told "reserved" already. */
  place(item: ItemId, epoch: Epoch, acknowledged: boolean, asks: readonly PlaceAsk[]): Promise<PlaceReply>
  /** Straight into the ledger, decided in arrival order: only while the door is `ledger` and the epoch is this one (E5, E10). */
  placeDirectly(item: ItemId, epoch: Epoch, asks: readonly PlaceAsk[]): Promise<DirectReply>
  /**
   * A reservation that can't be placed for a reason of its own: its order is born closed/refused. The same id again changes nothing, and
   * an order that stands under it is given back as it is. Undefined: the id is another buyer's, or no row can hold it.
   */
  refuse(item: ItemId, epoch: Epoch, ask: PlaceAsk): Promise<Order | undefined>
  find(ids: readonly OrderId[]): Promise<readonly Order[]>
  findByAttempt(item: ItemId, buyer: BuyerId, attempt: number): Promise<Order | undefined>
  /** The same for many at once, in no particular order; those that led to nothing are missing. */
  findByAttempts(keys: readonly AttemptKey[]): Promise<readonly Order[]>
  ofBuyer(buyer: BuyerId, after: OrderId | undefined, limit: number): Promise<readonly Order[]>
  list(query: OrderQuery): Promise<readonly Order[]>
}
