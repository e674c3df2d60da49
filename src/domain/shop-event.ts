/**
 * What the shop hears: an event tells of one change, after it was committed. Numbers are consecutive over all events; of one order, and of one
 * item, they follow the order of the changes. An event holds nothing personal beyond the buyer's id.
 */

import type { ItemId, SaleId } from './ids.ts'
import type { Order } from './order.ts'
import type { Payment } from './payment.ts'

type OrderEventType = 'order.placed' | 'order.paid' | 'order.closed' | 'order.refunded' | 'order.closing_soon'
type ItemEventType = 'item.sold_out' | 'item.back'
export type EventType = OrderEventType | 'payment.refund_due' | ItemEventType | 'sale.opened' | 'sale.over'

interface Told {
  readonly number: number
  readonly atMs: number
}

interface OrderEvent extends Told {
  readonly type: OrderEventType
  /** As it was after the change. */
  readonly order: Order
  readonly sku: string | undefined
}

/** Money has to go back. What became of the order is told apart from it. */
export interface PaymentEvent extends Told {
  readonly type: 'payment.refund_due'
  readonly sale: SaleId
  readonly payment: Pick<Payment, 'id' | 'order' | 'item' | 'provider' | 'ref' | 'amount' | 'why'> & {
    /** Only this part of it: `amount` is the part's. Undefined: all that is left. */
    readonly part: string | undefined
  }
}

interface ItemEvent extends Told {
  readonly type: ItemEventType
  readonly sale: SaleId
  readonly item: ItemId
  readonly sku: string | undefined
}

interface SaleTold extends Told {
  readonly sale: SaleId
  readonly name: string
  readonly opensAtMs: number
  readonly closesAtMs: number
}

export interface SaleOpenedEvent extends SaleTold {
  readonly type: 'sale.opened'
}

export interface SaleOverEvent extends SaleTold {
  readonly type: 'sale.over'
  /** Orders, units and revenue of each item, as in the final report. */
  readonly results: readonly Readonly<Record<string, unknown>>[]
}

export type ShopEvent = OrderEvent | PaymentEvent | ItemEvent | SaleOpenedEvent | SaleOverEvent

/** The order as it was after a change of this type, from the order as it is now: later changes are taken back. */
export function orderAfter(type: OrderEventType, order: Order): Order {
  const pending = { reason: undefined, supersededBy: undefined, closedAtMs: undefined, paidAtMs: undefined }
  switch (type) {
    case 'order.placed':
    case 'order.closing_soon':
      return { ...order, ...pending, state: 'pending', version: 1 }
    case 'order.paid':
      return { ...order, ...pending, paidAtMs: order.paidAtMs, state: 'paid', version: 2 }
    case 'order.closed':
    case 'order.refunded':
      return order
  }
}
