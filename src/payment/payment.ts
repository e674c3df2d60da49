/**
 * A payment provider, as the flows see it. The state of a payment is what the provider says, never a guess: a call without an answer in
 * time is a `Fault` (`payment_unreachable`: retry with the same ref and key). A `Fault` that is not retryable says that the provider
 * refused the call (`payment_refused`: the ref belongs to another amount).
 *
 * States of a payment at the provider: unknown → open → captured → refunded, open → void, unknown → void. Void and refunded are final.
 * Payments are captured whole and refunded whole. Does not know orders, and does not judge amounts: the flow compares what was captured
 * with what was asked for. `payment.contract.ts` is the suite that every provider passes.
 */

import type { Money } from '../domain/money.ts'

export interface PaymentRequest {
  /** Ours, committed before the provider is called: 1 to 64 letters, digits, `-` or `_`. */
  readonly ref: string
  readonly amount: Money
  /** Shown to the buyer. */
  readonly description: string
  /** Where the buyer goes afterwards. One that `checkReturnUrl` does not pass is left out. */
  readonly returnUrl: string | undefined
  /** Shown to the buyer. The provider may capture later: late money is refunded by the flow. */
  readonly payByMs: number
}

export type ProviderReply =
  /** unknown: the start never arrived. */
  | { readonly state: 'unknown' | 'open' | 'void' }
  /** `amount` is what was really captured. */
  | { readonly state: 'captured' | 'refunded'; readonly amount: Money; readonly capturedAtMs: number }

export type CallbackKind = 'captured' | 'void' | 'refunded'

/** A verified callback. The same `eventId` again is the same event, sent again. */
export interface CallbackEvent {
  readonly eventId: string
  readonly ref: string
  readonly kind: CallbackKind
  readonly amount: Money
  readonly atMs: number
}

type RefundState = 'refunded' | 'pending' | 'not_captured'

export interface PaymentProvider {
  readonly name: string
  /** Idempotent by ref: the same ref answers the same payUrl, also when the payment is final. */
  start(request: PaymentRequest, signal: AbortSignal): Promise<{ readonly payUrl: string }>
  query(ref: string, signal: AbortSignal): Promise<ProviderReply>
  /** Makes the payment void for good, an unknown ref too: a start still under way comes too late. captured, refunded: the cancel was too late. */
  cancel(ref: string, signal: AbortSignal): Promise<{ readonly state: 'void' | 'captured' | 'refunded' }>
  /** Refunds what was captured, once, however often it is called. pending: retry with the same key. */
  refund(ref: string, key: string, signal: AbortSignal): Promise<{ readonly state: RefundState }>
  /** Undefined: forged, stale or malformed. */
  verify(
    rawBody: Uint8Array,
    headers: { readonly get: (name: string) => string | null | undefined },
  ): CallbackEvent | undefined
  /** The answer to a callback after which the provider does not repeat it. */
  readonly acknowledgement: { readonly contentType: string; readonly body: string }
}
