/**
 * An order and its moves. `pending → paid | closed`, `paid → closed/refunded`; a refused reservation is born closed.
 * The move table is the only place that says what may follow what; the ledger's compare-and-sets are written from it.
 */

import type { BuyerId, Epoch, ItemId, OrderId, SaleId } from './ids.ts'
import type { Money } from './money.ts'
import type { OrderPayment } from './payment.ts'

export type OrderState = 'pending' | 'paid' | 'closed'
export type CloseReason = 'unpaid' | 'cancelled' | 'refused' | 'refunded'

export interface Order {
  readonly id: OrderId
  readonly sale: SaleId
  readonly item: ItemId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
  readonly price: Money
  readonly state: OrderState
  readonly reason: CloseReason | undefined
  readonly supersededBy: OrderId | undefined
  readonly epoch: Epoch
  readonly reservedAtMs: number
  readonly placedAtMs: number
  readonly payByMs: number | undefined
  readonly paidAtMs: number | undefined
  readonly closedAtMs: number | undefined
  readonly version: number
  /** Undefined: it has none, or it was not read. */
  readonly payment: OrderPayment | undefined
}

/** Units taken at the gate and not placed in the ledger yet: it becomes an order, or a refusal. */
export type Reservation = Pick<
  Order,
  'id' | 'sale' | 'item' | 'buyer' | 'attempt' | 'quantity' | 'price' | 'reservedAtMs'
> & { readonly state: 'reserved' }

/** More changes of its payments than any order has. */
const PAYMENT_NO_MAX = 2 ** 20

/** Of two rows of an order the one with the higher number is newer. A payment changes without a new version of the order. */
export function newnessOf({ version, payment }: Pick<Order, 'version' | 'payment'>): number {
  return version * PAYMENT_NO_MAX + Math.min(payment?.no ?? 0, PAYMENT_NO_MAX - 1)
}

/** from → the states it may move to, each with the reasons that may close it. */
const ORDER_MOVES: Readonly<Record<OrderState, Partial<Record<OrderState, readonly CloseReason[]>>>> = {
  pending: { paid: [], closed: ['unpaid', 'cancelled'] },
  paid: { closed: ['refunded'] },
  closed: {},
}

export function mayMove(from: OrderState, to: OrderState, reason: CloseReason | undefined): boolean {
  const reasons = ORDER_MOVES[from][to]
  if (reasons === undefined) return false
  return reason === undefined ? reasons.length === 0 : reasons.includes(reason)
}
