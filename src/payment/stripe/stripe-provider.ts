/**
 * Stripe. Method `checkout` (the default) sends the buyer to a page of Stripe's, `intent` gives a form of the shop's own what it needs to
 * pay. Whatever is said of a payment was read at Stripe; nothing is kept here but the difference of the clocks.
 *
 * What Stripe can't promise: a ref that was cancelled before its start arrived is not kept void; the flow cancels it again.
 */

import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { createSemaphore } from '../../base/semaphore.ts'
import type { PaymentKey, PaymentProvider, PaymentRequest, RefundRequest } from '../payment.ts'
import { StripeCallbacks } from './stripe-callbacks.ts'
import { StripeCalls } from './stripe-calls.ts'
import { examineStripe } from './stripe-examination.ts'
import { isChargeable } from './stripe-money.ts'
import { METHODS, StripePayments } from './stripe-payments.ts'
import { refundPayment } from './stripe-refunds.ts'

interface StripeOptions {
  /** The account, as in PAYMENT_PROVIDERS. */
  readonly name: string
  readonly secretKey: string
  readonly webhookSecrets: readonly string[]
  readonly publishableKey: string | undefined
  readonly apiBase: string
  /** How the world reaches this server, without a trailing slash. */
  readonly publicUrl: () => string
  readonly clock: Clock
  readonly log: Log
}

/** For the one question that a callback may need answered. */
const LOOK_MS_MAX = 5_000
/** Stripe takes 25 calls of a kind in a second, and a call takes some hundred milliseconds. */
const STARTS_AT_ONCE_MAX = 12

export class StripeProvider implements PaymentProvider {
  readonly name: string
  readonly methods = METHODS
  readonly acknowledgement = { contentType: 'text/plain', body: 'received' }
  readonly callbackBytesMax = 64 * 1024
  readonly #options: StripeOptions
  readonly #calls: StripeCalls
  readonly #payments: StripePayments
  readonly #callbacks: StripeCallbacks
  readonly #live: boolean
  readonly #starts = createSemaphore(STARTS_AT_ONCE_MAX)

  constructor(options: StripeOptions) {
    const { clock } = options
    this.name = options.name
    this.#options = options
    this.#live = /^[a-z]+_live_/.test(options.secretKey)
    this.#calls = new StripeCalls(options)
    this.#payments = new StripePayments({ ...options, calls: this.#calls })
    this.#callbacks = new StripeCallbacks({
      ...options,
      secrets: options.webhookSecrets,
      live: this.#live,
      refOfIntent: intent => withDeadline(clock, LOOK_MS_MAX, signal => this.#payments.refOf(intent, signal)),
    })
  }

  takes(currency: string): boolean {
    return isChargeable(currency)
  }

  /** A crowd that has just bought starts to pay in the same second: so many calls at once, and the others wait for their turn. */
  start(request: PaymentRequest, signal: AbortSignal) {
    return this.#calls.inTime(signal, () => this.#starts.run(() => this.#payments.start(request, signal)))
  }

  query(payment: PaymentKey, signal: AbortSignal) {
    return this.#payments.query(payment, signal)
  }

  async cancel(payment: PaymentKey, signal: AbortSignal): ReturnType<PaymentProvider['cancel']> {
    const handle = payment.handle ?? (await this.#payments.read(payment, signal))?.handle
    if (handle === undefined || (await this.#payments.end(handle, signal))) return { state: 'void' }
    const { state } = await this.#payments.query({ ...payment, handle }, signal)
    if (state !== 'open' && state !== 'unknown') return { state }
    const message = `${this.name}: the buyer's payment is being processed, and can't be cancelled now`
    throw new Fault('payment_busy', message, { retryable: true })
  }

  refund(payment: PaymentKey, request: RefundRequest, signal: AbortSignal) {
    return refundPayment({ calls: this.#calls, payments: this.#payments }, payment, request, signal)
  }

  verify(...callback: Parameters<PaymentProvider['verify']>) {
    return this.#callbacks.verify(...callback)
  }

  examine(signal: AbortSignal) {
    const { publicUrl, webhookSecrets } = this.#options
    const callbackUrl = `${publicUrl()}/api/payments/${this.name}/callback`
    return examineStripe(
      { calls: this.#calls, live: this.#live, callbackUrl, secretCount: webhookSecrets.length },
      signal,
    )
  }
}
