/**
 * How one item is sold. The item's door decides which implementation is in force; callers can't tell the difference:
 * the gate in this process (`local-gate-seller`), a gate that processes share (`shared-gate-seller`), the ledger itself (`ledger-seller`), and
 * one that sells nothing and still finds (`closed-seller`: the door is draining or shut, or the item is not live here).
 *
 * `standing`, `knows`, `refusal` and `left` do no I/O: the crowd that can't win costs no promise.
 */

import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask, Holding } from '../../gate/gate.ts'

/** Who asks, under which attempt, for how many units. */
export type Click = Pick<Ask, 'buyer' | 'attempt' | 'quantity' | 'trace'>

/** What a batch came to, for one of its asks. */
export type Decision =
  | { readonly kind: 'placed'; readonly order: Order }
  /** Taken, remembered here, and on its way into the ledger: the buyer may be told. */
  | { readonly kind: 'reserved'; readonly reservation: Reservation }
  /** This buyer has an order already. The caller reads it. */
  | { readonly kind: 'existing'; readonly order: OrderId }
  /** The same, and it was read already. */
  | { readonly kind: 'same'; readonly order: Order }
  | Refusal

/** One attempt of a buyer. `row`: the order, where it was read together with the attempt. */
export type Held = Holding & { readonly row?: Order }

export interface Seller {
  /** What refuses every new buyer right now (early, paused, over, sold out, busy), or undefined: the gate must be asked. */
  standing(): Refusal | undefined
  /** May this buyer hold a reservation or an order of this item? False is certain, true is not. */
  knows(buyer: BuyerId): boolean
  /** The refusal of this ask, where it is known without asking the gate. */
  refusal(click: Click): Refusal | undefined
  /** Units left to sell, to be shown. Undefined: not known, or (unless `anyAge`) not lately. */
  left(anyAge?: boolean): number | undefined
  /** One batch, in arrival order. Units taken stay held until the ledger has answered for these very ids. */
  sell(asks: readonly Ask[]): Promise<readonly Decision[]>
  /** Every attempt of this buyer, live and closed. `toShow`: what is found is as durable as what a new buyer is told (E11). */
  find(buyer: BuyerId, toShow?: boolean): Promise<readonly Held[] | 'unknown'>
  /** May this buyer be told of a reservation that is not in the ledger? Within the fence (E2), and remembered in the same turn (E6). */
  acknowledge(reservation: Reservation): boolean
  /** May acknowledged reservations of the item be unplaced? Unknown counts as yes. */
  outstanding(): Promise<boolean>
  /** Places again what was taken here and has no answer of the ledger. */
  settle(): Promise<void>
}

export const BUSY: Refusal = Object.freeze({ kind: 'busy' })
export const OVER: Refusal = Object.freeze({ kind: 'over' })
export const PAUSED: Refusal = Object.freeze({ kind: 'paused' })
export const SOLD_OUT: Refusal = Object.freeze({ kind: 'sold_out' })
export const ATTEMPTS_USED: Refusal = Object.freeze({ kind: 'attempts_used' })

/** What refuses a new buyer of an item that is not sold at this moment, by the ledger's row of its sale. */
export function standingClosed(sale: Sale, nowMs: number): Refusal {
  if (sale.state === 'over' || nowMs >= sale.closesAtMs) return OVER
  if (nowMs < sale.opensAtMs) return { kind: 'early', opensAtMs: sale.opensAtMs }
  return sale.state === 'paused' ? PAUSED : BUSY
}

/** What the gate holds for a buyer, as the buyer sees it. */
export function toReservation(sale: Sale, item: Item, held: Omit<Holding, 'live'>): Reservation {
  const { order, buyer, attempt, quantity, reservedAtMs } = held
  const { price } = item
  return { id: order, sale: sale.id, item: item.id, buyer, attempt, quantity, price, state: 'reserved', reservedAtMs }
}
