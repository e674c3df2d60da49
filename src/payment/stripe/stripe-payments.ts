/**
 * A payment at Stripe: a Checkout Session (`cs_…`, a page of Stripe's) or a PaymentIntent (`pi_…`, for a form of the shop's own). The handle
 * tells which. Both carry our ref in their metadata, also the PaymentIntent that Stripe makes behind a session.
 *
 * Idempotent by ref. The idempotency key is made of the ref alone, so another amount, currency or method under the same ref is refused by
 * Stripe. What may differ between two tries of one start (the minute in `expires_at`, the return address, the item's name) is not the
 * buyer's fault: then the session that exists is found and used, if amount and currency are the same.
 *
 * Stripe forgets a key after 24 hours, and a key under which it failed is spent. A second session of one ref can then be made, but not paid
 * twice: what the first start returned was lost and never shown, or it is stored, and its handle continues that very payment.
 */

import type Stripe from 'stripe'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { isSameMoney } from '../../domain/money.ts'
import type { PaymentKey, PaymentRequest, ProviderReply, StartedPayment } from '../payment.ts'
import { checkReturnUrl } from '../return-url.ts'
import type { StripeApi, StripeCalls } from './stripe-calls.ts'
import { sessionExpiry } from './stripe-expiry.ts'
import { fromStripeAmount, toStripeAmount } from './stripe-money.ts'
import { intentReply, METHOD_KEY, REF_KEY, sessionReply } from './stripe-states.ts'

interface PaymentsOptions {
  readonly calls: StripeCalls
  readonly clock: Clock
  /** How the world reaches this server, without a trailing slash. */
  readonly publicUrl: () => string
  readonly publishableKey: string | undefined
}

export const METHODS = [
  { name: 'checkout', qr: false },
  { name: 'intent', qr: false },
]

/**
 * Methods with which the buyer's money is there at once. Delayed ones (bank debits, vouchers, transfers) tell days later whether it is, when
 * the order has long been closed. It is a filter: Stripe offers those of them that the account, its country and the currency allow, and
 * whatever Stripe adds later stays off.
 */
const AT_ONCE = [
  'card',
  'link',
  'alipay',
  'amazon_pay',
  'bancontact',
  'blik',
  'cashapp',
  'eps',
  'ideal',
  'mobilepay',
  'paypal',
  'revolut_pay',
  'swish',
  'twint',
]

const DESCRIPTION_LENGTH_MAX = 200
/** Where a payment is looked for whose handle was lost: the newest sessions, a hundred a page. */
const PAGES_MAX = 3
const PAGE = 100
const NOT_FOUND = 'resource_missing'
const OTHER_PARAMETERS = 'this payment was started before with other parameters'
const OVER = 'the session of this payment is over'

type Session = Stripe.Checkout.Session
type Intent = Stripe.PaymentIntent

export class StripePayments {
  readonly #options: PaymentsOptions

  constructor(options: PaymentsOptions) {
    this.#options = options
  }

  async start(request: PaymentRequest, signal: AbortSignal): Promise<StartedPayment> {
    const { calls } = this.#options
    const { amount, currency } = request.amount
    const unitAmount = toStripeAmount(request.amount)
    if (unitAmount === undefined)
      throw calls.refused(`Stripe can't charge exactly ${amount} minor units of ${currency}: change the price`)
    if (request.handle !== undefined) return this.#continue(request, request.handle, signal)
    if ((request.method ?? 'checkout') === 'intent') return this.#startIntent(request, unitAmount, signal)
    const session = await this.#startSession(request, unitAmount, signal)
    if (!session.url) throw calls.refused(OVER)
    return { handle: session.id, payUrl: session.url }
  }

  async query(payment: PaymentKey, signal: AbortSignal): Promise<ProviderReply> {
    const found = await this.read(payment, signal)
    return found?.reply ?? { state: 'unknown' }
  }

  /** The payment with its PaymentIntent, if it has one yet. Undefined: nothing has this ref. */
  async read(payment: PaymentKey, signal: AbortSignal) {
    const handle = payment.handle ?? (await this.#find(payment.ref, signal))
    if (handle === undefined) return undefined
    const { calls } = this.#options
    const lost = () => calls.refused(`Stripe has no ${handle}: the secret key is of another account or mode`)
    const orLost = <T>(ask: (stripe: StripeApi) => Promise<T>) =>
      calls.call<T | 'lost'>(signal, ask, ({ code }) => (code === NOT_FOUND ? 'lost' : undefined))
    if (isIntent(handle)) {
      const intent = await orLost(stripe => stripe.paymentIntents.retrieve(handle, { expand: ['latest_charge'] }))
      if (intent === 'lost') throw lost()
      this.#checkRef(intent.metadata, payment.ref, handle)
      return { handle, intent, session: undefined, reply: intentReply(intent) }
    }
    const expand = ['payment_intent.latest_charge']
    const session = await orLost(stripe => stripe.checkout.sessions.retrieve(handle, { expand }))
    if (session === 'lost') throw lost()
    this.#checkRef(session.metadata, payment.ref, handle)
    const intent = typeof session.payment_intent === 'object' ? (session.payment_intent ?? undefined) : undefined
    return { handle, intent, session, reply: sessionReply(session, intent) }
  }

  /** Ends it at Stripe, if it is open. What it is afterwards is read anew. */
  async end(handle: string, signal: AbortSignal): Promise<boolean> {
    // A payment that is no longer open can't be ended: Stripe refuses, and what it is then is another question.
    const over = () => false
    return isIntent(handle)
      ? this.#options.calls.call(
          signal,
          async stripe => (await stripe.paymentIntents.cancel(handle)).status === 'canceled',
          ({ code }) => (code === 'payment_intent_unexpected_state' ? over() : undefined),
        )
      : this.#options.calls.call(
          signal,
          async stripe => (await stripe.checkout.sessions.expire(handle)).status === 'expired',
          ({ statusCode, code }) => (statusCode === 400 && code !== NOT_FOUND ? over() : undefined),
        )
  }

  /** Our ref, of a PaymentIntent that an event names. */
  async refOf(intent: string, signal: AbortSignal): Promise<string | undefined> {
    const { metadata } = await this.#options.calls.call(signal, stripe => stripe.paymentIntents.retrieve(intent))
    return metadata[REF_KEY]
  }

  async #startSession(request: PaymentRequest, unitAmount: number, signal: AbortSignal): Promise<Session> {
    const { calls, clock } = this.#options
    const create = (expiresAt: number) => {
      const params = this.#sessionOf(request, unitAmount, expiresAt)
      return calls.create<Session | 'clock' | 'other'>(
        signal,
        keyOf(request.ref),
        (stripe, key) => stripe.checkout.sessions.create(params, key),
        refusal => {
          if (refusal.param === 'expires_at') return 'clock'
          return refusal.rawType === 'idempotency_error' ? 'other' : undefined
        },
      )
    }
    const tried = new Map<number, 'clock' | 'other'>()
    // Refused because our clock is wrong: by now Stripe has told the time. Started before: the first try may have been a step of `expires_at`
    // away, and what is asked for in the same words is answered in the same words.
    for (const stepsBack of [0, 0, 1, -1]) {
      const expiresAt = sessionExpiry(request.payByMs, clock.now() + (calls.aheadMs ?? 0), stepsBack)
      if (tried.has(expiresAt)) continue
      const session = await create(expiresAt)
      if (typeof session === 'object') return session
      tried.set(expiresAt, session)
    }
    if (![...tried.values()].includes('other'))
      throw calls.refused("Stripe refused the session's end: check the clock of this machine")
    const again = await this.#findSession(request.ref, signal)
    const known = again && fromStripeAmount(again.amount_total ?? 0, again.currency ?? '')
    if (again === undefined || !isSameMoney(known!, request.amount)) throw calls.refused(OTHER_PARAMETERS)
    return again
  }

  #sessionOf(request: PaymentRequest, unitAmount: number, expiresAt: number): Stripe.Checkout.SessionCreateParams {
    const back = this.#returnTo(request.returnUrl)
    const metadata = { [REF_KEY]: request.ref, [METHOD_KEY]: 'checkout' }
    return {
      mode: 'payment',
      allowed_payment_method_types: AT_ONCE,
      line_items: [
        {
          quantity: 1,
          price_data: {
            currency: request.amount.currency.toLowerCase(),
            unit_amount: unitAmount,
            product_data: { name: descriptionOf(request) },
          },
        },
      ],
      client_reference_id: request.ref,
      metadata,
      payment_intent_data: { metadata, description: descriptionOf(request) },
      // What is captured must be what was asked for, in its currency.
      adaptive_pricing: { enabled: false },
      expires_at: expiresAt,
      success_url: back,
      cancel_url: back,
    }
  }

  async #startIntent(request: PaymentRequest, unitAmount: number, signal: AbortSignal): Promise<StartedPayment> {
    const { calls } = this.#options
    const params = {
      amount: unitAmount,
      currency: request.amount.currency.toLowerCase(),
      allowed_payment_method_types: AT_ONCE,
      description: descriptionOf(request),
      metadata: { [REF_KEY]: request.ref, [METHOD_KEY]: 'intent' },
    }
    const intent = await calls.create(signal, keyOf(request.ref), (stripe, key) =>
      stripe.paymentIntents.create(params, key),
    )
    return this.#formOf(intent)
  }

  /** There is no page of Stripe's: the shop's own form pays with the client secret. */
  #formOf(intent: Intent): StartedPayment {
    const { calls, publishableKey } = this.#options
    if (intent.client_secret === null) throw calls.refused('Stripe gave no client secret for this payment')
    const client = { clientSecret: intent.client_secret, ...(publishableKey && { publishableKey }) }
    return { handle: intent.id, payUrl: '', client }
  }

  /** The page or form of a payment that was started before, however long ago. */
  async #continue(request: PaymentRequest, handle: string, signal: AbortSignal): Promise<StartedPayment> {
    const { calls } = this.#options
    const { session, intent } = (await this.read({ ref: request.ref, handle }, signal))!
    const known = session
      ? fromStripeAmount(session.amount_total ?? 0, session.currency ?? '')
      : fromStripeAmount(intent!.amount, intent!.currency)
    if (!isSameMoney(known, request.amount)) throw calls.refused(OTHER_PARAMETERS)
    if (session === undefined) return this.#formOf(intent!)
    if (!session.url) throw calls.refused(OVER)
    return { handle, payUrl: session.url }
  }

  #returnTo(returnUrl: string | undefined): string {
    const checked = checkReturnUrl(returnUrl) ?? '/'
    return checked.startsWith('/') ? `${this.#options.publicUrl()}${checked}` : checked
  }

  #checkRef(metadata: Stripe.Metadata | null, ref: string, handle: string): void {
    if (metadata?.[REF_KEY] !== ref)
      throw this.#options.calls.refused(`${handle} belongs to another payment than ${ref}`)
  }

  /**
   * The handle, when it was lost. Stripe's search knows PaymentIntents by metadata, all of them, about a minute late; sessions that no
   * buyer has tried to pay have none, and are looked for among the newest. What is older than these expires by itself, unseen.
   */
  async #find(ref: string, signal: AbortSignal): Promise<string | undefined> {
    const [session, intent] = await Promise.all([this.#findSession(ref, signal), this.#searchIntent(ref, signal)])
    if (session !== undefined) return session.id
    if (intent === undefined || intent.metadata[METHOD_KEY] === 'intent') return intent?.id
    const { data } = await this.#options.calls.call(signal, stripe =>
      stripe.checkout.sessions.list({ payment_intent: intent.id, limit: 1 }),
    )
    return data[0]?.id
  }

  async #findSession(ref: string, signal: AbortSignal): Promise<Session | undefined> {
    let after: string | undefined
    for (let page = 0; page < PAGES_MAX; page++) {
      const { data, has_more: more } = await this.#options.calls.call(signal, stripe =>
        stripe.checkout.sessions.list({ limit: PAGE, ...(after && { starting_after: after }) }),
      )
      const found = data.find(({ metadata }) => metadata?.[REF_KEY] === ref)
      after = data.at(-1)?.id
      if (found !== undefined || !more || after === undefined) return found
    }
    return undefined
  }

  /** There is no search in some countries: a refusal finds nothing. */
  async #searchIntent(ref: string, signal: AbortSignal): Promise<Intent | undefined> {
    try {
      const query = `metadata['${REF_KEY}']:'${ref}'`
      const { data } = await this.#options.calls.call(signal, stripe =>
        stripe.paymentIntents.search({ query, limit: 1 }),
      )
      return data[0]
    } catch (error) {
      if (error instanceof Fault && !error.retryable) return undefined
      throw error
    }
  }
}

const isIntent = (handle: string) => handle.startsWith('pi_')

const keyOf = (ref: string) => `stampede-${ref}`

function descriptionOf({ description }: PaymentRequest): string {
  return Array.from(description.trim()).slice(0, DESCRIPTION_LENGTH_MAX).join('') || 'Order'
}
