/**
 * The items this process is selling: for each its sale, the epoch it sells under, and its bounded line before the gate.
 * `standing` is the one cached look that the crowd is refused by: window, pause and stock, without a promise or a network.
 * Does not decide anything the gate would not decide again.
 *
 * States of an entry: absent → on sale(epoch) → withdrawn (stale, or the sale is long over) → on sale(higher epoch) …
 * In a cluster every item that is followed has an entry, whatever its door; only behind `gate` and `ledger` is it current.
 */

import type { Batcher } from '../../base/batcher.ts'
import type { Epoch, ItemId, OrderId } from '../../domain/ids.ts'
import type { Door, Item } from '../../domain/item.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask, Holding } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { PlaceAsk } from '../../ledger/orders.ts'

/** Reservations taken at the gate whose rows the ledger has not confirmed yet, oldest first. */
type Unsettled = Map<OrderId, PlaceAsk>

/** What a batch came to, for one of its asks. */
export type Decision =
  | { readonly kind: 'placed'; readonly order: Order }
  /** Taken, remembered here, and on its way into the ledger: the buyer may be told. */
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  /** An order of this buyer stands already; whoever asks reads it from the ledger. */
  | { readonly kind: 'existing'; readonly order: OrderId }
  /** The same, and it was read already. */
  | { readonly kind: 'same'; readonly order: Order }
  | Refusal

export interface LiveItem {
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
  /** In a cluster: the door the ledger showed together with the epoch. Undefined behind a gate in the process. */
  readonly door?: Door
}

/** An item as a process of a cluster follows it. */
export interface Followed extends LiveItem {
  readonly door: Door
  /** When the read of the ledger was sent that last showed this epoch and this door (E2). Monotonic, ms. */
  seenAtMs: number
  /** Batches that are at the gate under this epoch right now. */
  atGate: number
  /** When the gate called this epoch stale: a look that was asked for later must show it active again. */
  staleAtMs: number | undefined
  /** Of what this process reads of the item in the ledger, for the looks made from it. */
  version: number
}

export type Registry = Map<ItemId, LiveItem>

/** How long before the opening a request is kept and answered at the opening, instead of being sent away. */
export const EARLY_WAIT_MS = 100

/** What stands in the way of any new buyer now; undefined when the gate must be asked. */
export function standing(near: LocalView, liveItem: LiveItem): Refusal | undefined {
  if (liveItem.skewed) return BUSY
  const look = near.statusNow(liveItem.item.id)
  if (look === undefined || !liveItem.current)
    return liveItem.door === undefined ? BUSY : standingUnsold(near, liveItem)
  const nowMs = near.nowMs()
  if (look.state === 'over' || nowMs >= look.closesAtMs) return OVER
  if (nowMs < look.opensAtMs) return { kind: 'early', opensAtMs: look.opensAtMs }
  if (look.state === 'paused') return PAUSED
  return look.left === 0 ? SOLD_OUT : undefined
}

/** Nobody sells it at this moment: of what the ledger says of its sale, whatever is true of a new buyer beyond that. */
function standingUnsold(near: LocalView, { sale }: LiveItem): Refusal {
  const nowMs = near.nowMs()
  if (sale.state === 'over' || nowMs >= sale.closesAtMs) return OVER
  if (nowMs < sale.opensAtMs) return { kind: 'early', opensAtMs: sale.opensAtMs }
  return sale.state === 'paused' ? PAUSED : BUSY
}

/** E2: the ledger's primary has shown this epoch within `fenceMs`, and nobody has said otherwise since. */
export function mayAcknowledge(liveItem: Followed, nowMs: number, fenceMs: number): boolean {
  return liveItem.current && !liveItem.skewed && nowMs - liveItem.seenAtMs < fenceMs
}

export function isFollowed(liveItem: LiveItem | undefined): liveItem is Followed {
  return liveItem?.door !== undefined
}

/** What the gate holds for a buyer, as the buyer sees it. */
export function toReservation(sale: Sale, item: Item, held: Omit<Holding, 'live'>): Reservation {
  const { order, buyer, attempt, quantity, reservedAtMs } = held
  const { price } = item
  return { id: order, sale: sale.id, item: item.id, buyer, attempt, quantity, price, state: 'reserved', reservedAtMs }
}

export const BUSY: Refusal = Object.freeze({ kind: 'busy' })
export const OVER: Refusal = Object.freeze({ kind: 'over' })
export const PAUSED: Refusal = Object.freeze({ kind: 'paused' })
export const SOLD_OUT: Refusal = Object.freeze({ kind: 'sold_out' })
