/**
 * A payment provider, as the flows see it. The state of a payment is what the provider says, never a guess: a call without an answer in
 * time is a `Fault` (`payment_unreachable`: retry with the same ref and key). A `Fault` that is not retryable says that the provider
 * refused the call (`payment_refused`: the ref belongs to another amount, a key is wrong).
 *
 * States of a payment at the provider: unknown → open → captured → refunded, open → void, unknown → void. Void and refunded are final,
 * unless the provider can't promise it: money that is captured after all is refunded by the flow. Payments are captured whole, and refunded
 * whole or in parts. Does not know orders, and does not judge amounts: the flow compares what was captured with what was asked for.
 * `payment.contract.ts` is the suite that every provider passes.
 */

import type { Money } from '../domain/money.ts'

export interface PaymentRequest {
  /** Ours, committed before the provider is called: 1 to 64 letters, digits, `-` or `_`. */
  readonly ref: string
  readonly amount: Money
  /** For the shop's own pages and books. No provider depends on it. */
  readonly order?: string | undefined
  /** Shown to the buyer. */
  readonly description: string
  /** Where the buyer goes afterwards. One that `checkReturnUrl` does not pass is left out. */
  readonly returnUrl: string | undefined
  /** Told to the provider, which ends the payment then if it can. It may capture later: late money is refunded by the flow. */
  readonly payByMs: number
  /** One of the provider's `methods`; undefined: the first. */
  readonly method?: string | undefined
  /** Of an earlier start of this ref, where it is stored: that very payment is continued. */
  readonly handle?: string | undefined
  /** The address of the buyer's browser, for methods that ask for it. */
  readonly address?: string | undefined
  /** Who the buyer is at the provider, for methods inside its own app (WeChat's openid). Never stored. */
  readonly payer?: string | undefined
}

/** A payment that has begun. The flow stores it before the buyer sees it: without a stored page no buyer can have paid. */
export interface StartedPayment {
  /** The provider's own id of it, where calls need it. */
  readonly handle?: string | undefined
  readonly payUrl: string
  /** The text of a QR code that the buyer scans with a phone. */
  readonly qr?: string | undefined
  /** For a form of the shop's own, or the provider's script inside its app: what it asks for. */
  readonly client?: Readonly<Record<string, string>> | undefined
}

/** Which payment a call is about. */
export interface PaymentKey {
  readonly ref: string
  /** Undefined: the provider has given none, or its answer was lost before it was stored. */
  readonly handle?: string | undefined
}

export type ProviderReply =
  /** unknown: the start never arrived. open with `declined`: the last try failed, and the buyer can still pay. */
  | { readonly state: 'unknown' }
  | { readonly state: 'open'; readonly declined?: boolean | undefined }
  | { readonly state: 'void'; readonly why?: VoidReason | undefined }
  /** `amount` is what was really captured. */
  | { readonly state: 'captured' | 'refunded'; readonly amount: Money; readonly capturedAtMs: number }

type VoidReason = 'declined' | 'expired' | 'cancelled'

/**
 * captured, void, refunded  the payment is in this state now
 * declined                  a try to pay failed; the payment is open, and the buyer can try again
 * disputed                  the buyer's bank asks for the money back: an operator has to know
 * other                     genuine, and of no interest: it is acknowledged
 */
export type CallbackKind = 'captured' | 'void' | 'refunded' | 'declined' | 'disputed' | 'other'

/** A verified callback. The same `eventId` again is the same event, sent again. */
export interface CallbackEvent {
  readonly eventId: string
  /** Empty only where the kind is `other`. */
  readonly ref: string
  readonly kind: CallbackKind
  readonly amount: Money
  readonly atMs: number
  readonly why?: VoidReason | undefined
}

type RefundState = 'refunded' | 'pending' | 'not_captured'

export interface RefundRequest {
  /** Idempotency: the same key is the same refund. At most 64 letters, digits, `-` or `_`. */
  readonly key: string
  /** What was captured. */
  readonly captured: Money
  /** Undefined: all that is left. */
  readonly part?: Money | undefined
}

interface PaymentMethod {
  readonly name: string
  /** A code is shown that the buyer scans with a phone. */
  readonly qr: boolean
}

/** One thing that must be true before real buyers pay; found by `doctor --live`. */
interface ProviderFinding {
  readonly what: string
  readonly ok: boolean
  /** What it means and what to do. Never a secret. */
  readonly detail: string
}

export interface PaymentProvider {
  /** As in PAYMENT_PROVIDERS, and in the address of its callbacks. */
  readonly name: string
  /** The first is the default. None: buyers can't start a payment here, it is only reported. */
  readonly methods: readonly PaymentMethod[]
  /**
   * The shop takes the money itself and reports it by calls of its own, which `verify` judges. It can't be asked: a query answers `open`, a
   * cancel is void on our side alone, and a refund is pending until it is reported, so none is sent. It has no callback address.
   */
  readonly reports?: true
  takes(currency: string): boolean
  /** Idempotent by ref: the same ref again never makes a second payment. Where the provider can, it answers the same page. */
  start(request: PaymentRequest, signal: AbortSignal): Promise<StartedPayment>
  query(payment: PaymentKey, signal: AbortSignal): Promise<ProviderReply>
  /**
   * Makes the payment void, an unknown ref too, for good where the provider can promise it. captured, refunded: the cancel was too late.
   * `untilMs`: it may be paid until then all the same, and is asked about (`cancelsLate`).
   */
  cancel(
    payment: PaymentKey,
    signal: AbortSignal,
  ): Promise<{ readonly state: 'void' | 'captured' | 'refunded'; readonly untilMs?: number | undefined }>
  /** It hears of a payment no sooner than the buyer opens its page, and can cancel it no sooner. */
  readonly cancelsLate?: true
  /** Without a part: refunds all that is left, once, however often it is called. pending: retry with the same key. */
  refund(payment: PaymentKey, request: RefundRequest, signal: AbortSignal): Promise<{ readonly state: RefundState }>
  /** Undefined: forged, stale or malformed. A retryable `Fault` when it can't be judged now (a certificate has to be fetched). */
  verify(
    rawBody: Uint8Array,
    headers: { readonly get: (name: string) => string | null | undefined },
  ): Promise<CallbackEvent | undefined>
  /** The answer to a callback after which the provider does not repeat it. */
  readonly acknowledgement: { readonly contentType: string; readonly body: string }
  /** Where its callbacks may be longer than any other body: it tells all of a payment in them. */
  readonly callbackBytesMax?: number
  /** Asks the provider whether keys, clock and settings fit. Changes nothing. */
  examine?(signal: AbortSignal): Promise<readonly ProviderFinding[]>
  stop?(): Promise<void>
}
