/**
 * The items this process is selling: for each its sale, the epoch it sells under, and its bounded line before the gate.
 * `standing` is the one cached look that the crowd is refused by: window, pause and stock, without a promise or a network.
 * Does not decide anything the gate would not decide again.
 *
 * States of an entry: absent → on sale(epoch) → withdrawn (stale, or the sale is long over) → on sale(higher epoch) …
 */

import type { Batcher } from '../base/batcher.ts'
import type { Epoch, ItemId, OrderId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'
import type { Order } from '../domain/order.ts'
import type { Refusal } from '../domain/outcomes.ts'
import type { Sale } from '../domain/sale.ts'
import type { Ask } from '../gate/gate.ts'
import type { NearGate } from '../gate/near.ts'
import type { PlaceAsk } from '../ledger/orders.ts'

/** Reservations taken at the gate whose rows the ledger has not confirmed yet, oldest first. */
type Unsettled = Map<OrderId, PlaceAsk>

/** What a batch came to, for one of its asks. */
export type Decision =
  | { readonly kind: 'placed'; readonly order: Order }
  /** An order of this buyer stands already; whoever asks reads it from the ledger. */
  | { readonly kind: 'stands'; readonly order: OrderId }
  | Refusal

export interface OnSale {
  sale: Sale
  item: Item
  readonly epoch: Epoch
  readonly line: Batcher<Ask, Decision>
  /** Taken at the gate, not yet answered by the ledger. */
  readonly unsettled: Unsettled
  /** How many calls are at the ledger with them right now. */
  placing: number
  /** False from the moment the gate or the ledger called this epoch stale: nobody is sold to under it any more. */
  current: boolean
  /** The gate's clock and the ledger's disagree: nobody knows whether the sale is open. */
  skewed: boolean
  /** The sale is over and the gate knows it. */
  retired: boolean
}

export type Shelf = Map<ItemId, OnSale>

/** How long before the opening a request is kept and answered at the opening, instead of being sent away. */
export const EARLY_WAIT_MS = 100

/** What stands in the way of any new buyer now; undefined when the gate must be asked. */
export function standing(near: NearGate, onSale: OnSale): Refusal | undefined {
  const look = near.lookNow(onSale.item.id)
  if (look === undefined || !onSale.current || onSale.skewed) return BUSY
  const nowMs = near.nowMs()
  if (look.state === 'over' || nowMs >= look.closesAtMs) return OVER
  if (nowMs < look.opensAtMs) return { kind: 'early', opensAtMs: look.opensAtMs }
  if (look.state === 'paused') return PAUSED
  return look.left === 0 ? SOLD_OUT : undefined
}

export const BUSY: Refusal = Object.freeze({ kind: 'busy' })
export const OVER: Refusal = Object.freeze({ kind: 'over' })
export const PAUSED: Refusal = Object.freeze({ kind: 'paused' })
export const SOLD_OUT: Refusal = Object.freeze({ kind: 'sold_out' })
