/**
 * A payment provider, as the flows see it: somebody else's house where buyers pay. Its word about money is asked for, never guessed;
 * an answer it can't give in time is a `Fault` (`payment_unreachable`: ask again, with the same ref and key), never a state.
 * A `Fault` that is not retryable says that the house refused the call as such (`payment_refused`: the ref stands for another amount).
 *
 * States of a payment in the house: unknown → open → captured → refunded, open → void, and unknown → void. Nothing leads out of void
 * or refunded. Does not know orders, and does not judge amounts: whether what was captured is what was asked for is the flow's part.
 * Payments are captured whole and refunded whole. `payment.contract.ts` is the suite that every provider passes.
 */

import type { Money } from '../domain/money.ts'

export interface PaymentRequest {
  /** Ours, made and written down before the provider hears of it: 1 to 64 letters, digits, `-` or `_`. */
  readonly ref: string
  readonly amount: Money
  /** For the buyer's eyes. */
  readonly description: string
  /** Where the buyer goes afterwards. One that `checkReturnUrl` does not pass is left out. */
  readonly returnUrl: string | undefined
  /** What the buyer is told. The house may take the money later all the same: late money is sent back by the flow. */
  readonly payByMs: number
}

export type ProviderReply =
  /** The house has never heard of it: the start was lost on its way. */
  | { readonly state: 'unknown' }
  | { readonly state: 'open' }
  | { readonly state: 'void' }
  /** `amount` is what was really captured. */
  | { readonly state: 'captured' | 'refunded'; readonly amount: Money; readonly capturedAtMs: number }

export type CallbackKind = 'captured' | 'void' | 'refunded'

/** A callback that was checked. The same `eventId` again is the same event told again. */
export interface CallbackEvent {
  readonly eventId: string
  readonly ref: string
  readonly kind: CallbackKind
  readonly amount: Money
  readonly atMs: number
}

export interface PaymentProvider {
  readonly name: string
  /** Idempotent by ref: the same ref again answers the same payUrl, also when the payment is settled. */
  start(request: PaymentRequest, signal: AbortSignal): Promise<{ readonly payUrl: string }>
  query(ref: string, signal: AbortSignal): Promise<ProviderReply>
  /**
   * From now on nobody can pay it; a ref never heard of is void from now on too, so a start still on its way comes too late.
   * captured, refunded: too late, the money was taken.
   */
  cancel(ref: string, signal: AbortSignal): Promise<{ readonly state: 'void' | 'captured' | 'refunded' }>
  /**
   * Gives back what was captured, once, whatever the number of calls. pending: ask again with the same key.
   * not_captured: there is no money to give back.
   */
  refund(
    ref: string,
    key: string,
    signal: AbortSignal,
  ): Promise<{ readonly state: 'refunded' | 'pending' | 'not_captured' }>
  /** Is this callback really the provider's, and fresh? Undefined: forged, stale or malformed. */
  verify(
    rawBody: Uint8Array,
    headers: { readonly get: (name: string) => string | null | undefined },
  ): CallbackEvent | undefined
  /** What the provider expects as the answer to a callback that it should not repeat. */
  readonly acknowledgement: { readonly contentType: string; readonly body: string }
}
