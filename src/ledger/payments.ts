/** Payments in the ledger. A row is written before the provider gets the payment; captures are decided by one compare-and-set. */

import type { ItemId, OrderId } from '../domain/ids.ts'
import type { Money } from '../domain/money.ts'
import type { Payment, PaymentState } from '../domain/payment.ts'

/**
 * paid          the order is paid by this capture       same     this payment was captured before
 * late          the order was closed: refund            second   another payment was first: refund
 * wrong_amount  not the amount asked for: alarm         unknown  there is no such payment
 */
export type CaptureOutcome = 'paid' | 'same' | 'late' | 'second' | 'wrong_amount' | 'unknown'

interface Captured {
  readonly outcome: CaptureOutcome
  readonly order: OrderId | undefined
  readonly item: ItemId | undefined
}

export interface StuckPayments {
  readonly provider: string
  /** Refunds that were tried more than `tries` times and are still not through. */
  readonly refunds: number
  /** Refunds that a shop has not confirmed in its time. */
  readonly unconfirmed: number
  /** Of a provider that can't be asked: all its open payments. */
  readonly open: number
}

/** Those that confirm refunds by calls of their own, and the time they have for it. */
interface ConfirmingProviders {
  readonly providers: readonly string[]
  readonly withinMs: number
}

export interface ClaimedPayment extends Payment {
  readonly wanted: boolean
}

/** Payments to query (`started`) or refunds to send (`refund_due`), at one provider; `''`: at all providers that no lane names. */
export interface PaymentLane {
  readonly state: 'started' | 'refund_due'
  readonly provider: string
}

export interface Payments {
  /**
   * The open payment of this order with this provider, whatever its method, made if there is none. Undefined: the order is not pending,
   * or has had `PAYMENTS_OF_ORDER_MAX` payments.
   */
  start(id: string, order: OrderId, provider: string, method?: string): Promise<Payment | undefined>
  /**
   * What the provider answered to the start; its state afterwards: only a started payment may be shown to the buyer. Not `isNew`: the stored
   * page is shown again.
   */
  keepPage(
    id: string,
    page: Partial<Record<'handle' | 'payUrl' | 'qr', string | undefined>> & { readonly isNew?: boolean },
  ): Promise<PaymentState | undefined>
  /** A try to pay has failed, told by this event or by a query. True: it is news. */
  decline(id: string, event?: string): Promise<boolean>
  find(provider: string, ref: string): Promise<Payment | undefined>
  ofOrders(orders: readonly OrderId[]): Promise<readonly Payment[]>
  capture(provider: string, ref: string, amount: Money, atMs: number): Promise<Captured>
  /** Captured money whose order is not paid pays it, or becomes due for refund. Undefined: it was decided meanwhile. */
  decideCapture(payment: string): Promise<'paid' | 'late' | undefined>
  /**
   * Payments to query and refunds to send that are due, of each lane the longest due ones, without those named; each is postponed to its
   * next try. `wanted`: the order is pending; if not, the payment should be cancelled.
   */
  claim(
    rooms: readonly { readonly lane: PaymentLane; readonly room: number }[],
    without: readonly string[],
  ): Promise<readonly ClaimedPayment[]>
  /**
   * `why`: why it ended, where it becomes void; else why its money goes back. `lookUntilMs`: a void one may still be paid until then, and is
   * asked about again.
   */
  move(id: string, from: PaymentState, to: PaymentState, why?: string, lookUntilMs?: number): Promise<boolean>
  /** Void payments to be asked about again that are due, of each provider; each is postponed. `isLast`: its time is over. */
  lookAgain(
    rooms: readonly { readonly lane: string; readonly room: number }[],
    without: readonly string[],
  ): Promise<readonly (Payment & { readonly isLast: boolean })[]>
  stopLooking(id: string): Promise<void>
  recordCallback(provider: string, event: string, ref: string, outcome: string): Promise<void>
  /** Open payments that wait for an operator, by provider. */
  stuck(tries: number, providers: readonly string[], confirming: ConfirmingProviders): Promise<readonly StuckPayments[]>
}
