/**
 * Stripe's webhook events. The signature is checked by Stripe's own code, over the bytes as they came, with each of the configured secrets,
 * and the time it was made must be within 300 seconds of ours, in both directions (Stripe's code accepts any time to come).
 *
 * What the event means is read from few fields, which all of Stripe's API versions have. Events of things that were not made here, of the
 * other mode (test or live) and of connected accounts are genuine and of no interest; the last two are logged, because a setting is wrong.
 */

import Stripe from 'stripe'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { CallbackEvent, PaymentProvider } from '../payment.ts'
import { fromStripeAmount } from './stripe-money.ts'
import { METHOD_KEY, REF_KEY, REFUND_KEY, WHOLE_KEY } from './stripe-states.ts'

interface CallbackOptions {
  /** The account, as in PAYMENT_PROVIDERS. */
  readonly name: string
  /** Several while one replaces the other. */
  readonly secrets: readonly string[]
  /** Whether the secret key is of the live mode. */
  readonly live: boolean
  readonly clock: Clock
  readonly log: Log
  /** A dispute names only the PaymentIntent: Stripe is asked whose it is. */
  readonly refOfIntent: (intent: string) => Promise<string | undefined>
}

/** What is subscribed to at Stripe. Everything else is acknowledged and ignored. */
export const EVENT_TYPES = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'charge.refunded',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
] as const

type EventType = (typeof EVENT_TYPES)[number]

const TOLERANCE_S = 300
const BODY_BYTES_MAX = 256 * 1024
const SIGNATURE_LENGTH_MAX = 4096
const NO_MONEY = { amount: 0, currency: 'USD' }

const metadata = z
  .record(z.string(), z.string())
  .nullish()
  .transform(found => found ?? {})
const money = { currency: z.string().length(3) }
const objectSchemas = {
  session: z.object({ ...money, metadata, amount_total: z.int(), payment_status: z.string() }),
  intent: z.object({ ...money, metadata, amount: z.int(), amount_received: z.int().default(0) }),
  charge: z.object({ ...money, metadata, amount_refunded: z.int(), refunded: z.boolean() }),
  refund: z.object({ ...money, metadata, id: z.string(), amount: z.int(), status: z.string().nullable() }),
  dispute: z.object({ ...money, id: z.string(), amount: z.int(), payment_intent: z.string().nullish() }),
}
const eventSchema = z.object({
  id: z.string().min(1).max(255),
  type: z.string(),
  created: z.int(),
  livemode: z.boolean(),
  /** Of a connected account. */
  account: z.string().optional(),
  data: z.object({ object: z.unknown() }),
})

type StripeEvent = z.output<typeof eventSchema>
type Meaning = Pick<CallbackEvent, 'ref' | 'kind' | 'amount'> & Pick<CallbackEvent, 'why'>

const OTHER: Meaning = { ref: '', kind: 'other', amount: NO_MONEY }
/** Ours has only letters, digits, `-` and `_`. */
const REF = /^[\w-]{1,64}$/

export class StripeCallbacks {
  readonly #options: CallbackOptions

  constructor(options: CallbackOptions) {
    this.#options = options
  }

  async verify(...[rawBody, headers]: Parameters<PaymentProvider['verify']>): ReturnType<PaymentProvider['verify']> {
    const signature = headers.get('stripe-signature')
    const event = typeof signature === 'string' ? await this.#genuine(rawBody, signature) : undefined
    if (event === undefined) return undefined
    const meaning = await this.#meaningOf(event)
    return { eventId: event.id, atMs: event.created * 1000, ...(meaning === undefined ? OTHER : meaning) }
  }

  async #genuine(rawBody: Uint8Array, signature: string): Promise<StripeEvent | undefined> {
    const { clock, secrets } = this.#options
    if (rawBody.byteLength > BODY_BYTES_MAX || signature.length > SIGNATURE_LENGTH_MAX) return undefined
    const signedAtS = Number.parseInt(
      signature
        .split(',')
        .findLast(part => part.startsWith('t='))
        ?.slice(2) ?? '',
      10,
    )
    if (!(Math.abs(clock.now() / 1000 - signedAtS) <= TOLERANCE_S)) return undefined
    for (const secret of secrets) {
      try {
        // Decoded strictly: Stripe's code would replace bytes that are no UTF-8, and then check what was never sent.
        const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(rawBody)
        const event: unknown = await Stripe.webhooks.constructEventAsync(
          text,
          signature,
          secret,
          TOLERANCE_S,
          undefined,
          clock.now(),
        )
        return eventSchema.safeParse(event).data
      } catch {
        // Not with this secret, or no JSON.
      }
    }
    return undefined
  }

  /** Undefined: of no interest. */
  async #meaningOf(event: StripeEvent): Promise<Meaning | undefined> {
    const { name, live, log } = this.#options
    if (event.livemode !== live || event.account !== undefined) {
      log.warn(
        {
          event: 'stripe_event_foreign',
          provider: name,
          id: event.id,
          type: event.type,
          livemode: event.livemode,
          account: event.account,
        },
        'Stripe event of another mode or account ignored: check which endpoint the webhook secret belongs to',
      )
      return undefined
    }
    const read = Object.hasOwn(READERS, event.type) ? READERS[event.type as EventType] : undefined
    const meaning = await read?.(event.data.object, this.#options)
    return meaning !== undefined && REF.test(meaning.ref) ? meaning : undefined
  }
}

type Reader = (object: unknown, options: CallbackOptions) => Meaning | undefined | Promise<Meaning | undefined>

/** Undefined for what was not made here, or has another shape than Stripe's documents say. */
function reader<T extends z.ZodType>(
  schema: T,
  read: (found: z.output<T>, options: CallbackOptions) => ReturnType<Reader>,
): Reader {
  return (object, options) => {
    const parsed = schema.safeParse(object)
    return parsed.success ? read(parsed.data, options) : undefined
  }
}

const session = (kind: Meaning['kind'], why?: Meaning['why']) =>
  reader(objectSchemas.session, found => ({
    ref: found.metadata[REF_KEY] ?? '',
    // Completed with a delayed method: not paid yet, another event will tell.
    kind: kind === 'captured' && found.payment_status !== 'paid' ? 'other' : kind,
    amount: fromStripeAmount(found.amount_total, found.currency),
    why,
  }))

const failedRefund = ({ name, log }: CallbackOptions, refund: z.output<typeof objectSchemas.refund>) =>
  log.error(
    {
      event: 'stripe_refund_failed',
      provider: name,
      payment: refund.metadata[REF_KEY],
      refund: refund.id,
      key: refund.metadata[REFUND_KEY],
    },
    'refund failed at Stripe, the money is back in the account: give it to the buyer another way',
  )

const READERS: Readonly<Record<EventType, Reader>> = {
  'checkout.session.completed': session('captured'),
  'checkout.session.async_payment_succeeded': session('captured'),
  'checkout.session.async_payment_failed': session('void', 'declined'),
  'checkout.session.expired': session('void', 'expired'),
  'payment_intent.succeeded': reader(objectSchemas.intent, found => ({
    ref: found.metadata[REF_KEY] ?? '',
    kind: 'captured',
    amount: fromStripeAmount(found.amount_received, found.currency),
  })),
  'payment_intent.payment_failed': reader(objectSchemas.intent, found => ({
    ref: found.metadata[REF_KEY] ?? '',
    kind: 'declined',
    amount: fromStripeAmount(found.amount, found.currency),
  })),
  // The end of a session has an event of its own: its intent's is no news.
  'payment_intent.canceled': reader(objectSchemas.intent, found => ({
    ref: found.metadata[REF_KEY] ?? '',
    kind: found.metadata[METHOD_KEY] === 'intent' ? 'void' : 'other',
    amount: fromStripeAmount(found.amount, found.currency),
    why: 'cancelled',
  })),
  // Stripe copies the intent's metadata to the charge. A part is no state of the payment.
  'charge.refunded': reader(objectSchemas.charge, found => ({
    ref: found.metadata[REF_KEY] ?? '',
    kind: found.refunded ? 'refunded' : 'other',
    amount: fromStripeAmount(found.amount_refunded, found.currency),
  })),
  'refund.updated': reader(objectSchemas.refund, (found, options) => {
    if (found.status === 'failed' && REF_KEY in found.metadata) failedRefund(options, found)
    return {
      ref: found.metadata[REF_KEY] ?? '',
      kind: found.status === 'succeeded' && WHOLE_KEY in found.metadata ? 'refunded' : 'other',
      amount: fromStripeAmount(found.amount, found.currency),
    }
  }),
  'refund.failed': reader(objectSchemas.refund, (found, options) => {
    if (REF_KEY in found.metadata) failedRefund(options, found)
    return {
      ref: found.metadata[REF_KEY] ?? '',
      kind: 'other',
      amount: fromStripeAmount(found.amount, found.currency),
    }
  }),
  'charge.dispute.created': reader(objectSchemas.dispute, async (found, { refOfIntent }) => {
    const ref = found.payment_intent ? await refOfIntent(found.payment_intent) : undefined
    return { ref: ref ?? '', kind: 'disputed', amount: fromStripeAmount(found.amount, found.currency) }
  }),
}
