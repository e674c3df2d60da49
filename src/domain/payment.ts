/** A payment and its moves: `started → captured | void | refund_due`, `captured → refund_due`, `void → captured | refund_due`, `refund_due → refunded`. */

import type { ItemId, OrderId } from './ids.ts'
import type { Money } from './money.ts'

/** Every declined payment may be followed by another: enough for a buyer who tries all cards, and a bound for one who never pays. */
export const PAYMENTS_OF_ORDER_MAX = 20

export type PaymentState = 'started' | 'captured' | 'void' | 'refund_due' | 'refunded'

export interface Payment {
  readonly id: string
  readonly order: OrderId
  readonly item: ItemId
  readonly provider: string
  /** Its id at the provider, made by us, so that it is known before the provider is asked. */
  readonly ref: string
  readonly amount: Money
  readonly state: PaymentState
  /** Why money goes back: late, second, operator. */
  readonly why: string | undefined
  readonly startedAtMs: number
  readonly capturedAtMs: number | undefined
  readonly refundedAtMs: number | undefined
  readonly tries: number
}
