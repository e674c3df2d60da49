/** A payment and its moves: `started → captured | void | refund_due`, `captured → refund_due`, `void → captured | refund_due`, `refund_due → refunded`. */

import { unreachable } from '../base/assert.ts'
import type { ItemId, OrderId } from './ids.ts'
import type { Money } from './money.ts'

/** Every declined payment may be followed by another: enough for a buyer who tries all cards, and a bound for one who never pays. */
export const PAYMENTS_OF_ORDER_MAX = 20
/** Each is money that was taken: more than any buyer pays by mistake, and a bound for a shop that reports under ever new references. */
export const REPORTS_OF_ORDER_MAX = 100

export type PaymentState = 'started' | 'captured' | 'void' | 'refund_due' | 'refunded'

/** Why it is void. */
export type PaymentEnd = 'declined' | 'expired' | 'cancelled'

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
  /** One of the provider's methods; undefined: written by a version that knew none. */
  readonly method: string | undefined
  /** The provider's own id of it, once its start was answered. */
  readonly handle: string | undefined
  /** Where the buyer pays, the code to scan, and since when they are kept. */
  readonly payUrl: string | undefined
  readonly qr: string | undefined
  readonly pageAtMs: number | undefined
  readonly ended: PaymentEnd | undefined
  /** When the last try to pay failed; the buyer can still pay. */
  readonly declinedAtMs: number | undefined
  readonly startedAtMs: number
  readonly capturedAtMs: number | undefined
  readonly refundedAtMs: number | undefined
  readonly tries: number
}

/** What a buyer sees of an order's payment: of the one that has paid the order, else of the newest. */
export interface OrderPayment {
  readonly provider: string
  readonly method: string | undefined
  readonly state: ShownPaymentState
  /** Of a code that can be scanned now. */
  readonly qr: string | undefined
  /** Grows with every change of any payment of the order. */
  readonly no: number
}

export const SHOWN_PAYMENT_STATES = ['started', 'declined', 'expired', 'captured', 'refunded'] as const
type ShownPaymentState = (typeof SHOWN_PAYMENT_STATES)[number]

/** A payment that ended otherwise than by a decline was not completed: its time was up, or it was cancelled. */
export function shownState(payment: Pick<Payment, 'state' | 'ended' | 'declinedAtMs'>): ShownPaymentState {
  switch (payment.state) {
    case 'started':
      return payment.declinedAtMs === undefined ? 'started' : 'declined'
    case 'void':
      return payment.ended === 'declined' ? 'declined' : 'expired'
    case 'captured':
    case 'refund_due':
      return 'captured'
    case 'refunded':
      return 'refunded'
    default:
      return unreachable(payment.state)
  }
}
