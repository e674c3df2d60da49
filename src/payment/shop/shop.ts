/**
 * The shop's own till: the shop takes the money itself and tells us, by calls signed with a secret of its own. What it tells is recorded
 * under the order's lock (`flows/money/report-payment.ts`); here are the signature, and the address to which a buyer is sent to pay.
 *
 * Keeps no state and calls no server: the shop can't be asked. A payment is open until the shop reports it, and void as soon as its order is closed:
 * money that is reported later goes back. The shop is told of it by the event `stampede.payment.refund_due`, and reports when it is done.
 * Without SHOP_PAY_URL no payment can be started here: the shop's app takes the money without asking us.
 */

import { createSecretKey } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { shopCaptureInput, shopRefundInput } from '../../wire/shop/shop-shapes.ts'
import { SIGNATURE_HEADER, signedAtMs } from '../body-signature.ts'
import { payUrlOf } from '../pay-url.ts'
import type { CallbackEvent, PaymentProvider } from '../payment.ts'

interface ShopOptions {
  /** The newest first. While a secret is replaced, either is good. */
  readonly secrets: readonly string[]
  /** A template of `payment/pay-url.ts`. */
  readonly payUrl: string | undefined
  /** How the world reaches this server. */
  readonly publicUrl: () => string
  readonly clock: Pick<Clock, 'now'>
}

const NOTHING = { amount: 0, currency: '' }

export function createShop({ secrets, payUrl, publicUrl, clock }: ShopOptions): PaymentProvider {
  const keys = secrets.map(secret => createSecretKey(Buffer.from(secret, 'utf8')))
  const [newest] = keys
  if (newest === undefined) throw new Fault('payment_refused', 'the shop has no secret')
  return {
    name: 'shop',
    methods: payUrl === undefined ? [] : [{ name: 'page', qr: false }],
    reports: true,
    takes: () => true,
    async start(request) {
      if (payUrl === undefined) throw new Fault('payment_refused', 'SHOP_PAY_URL is not set: nobody can be sent there')
      return { payUrl: payUrlOf(payUrl, newest, request, publicUrl()) }
    },
    query: async () => ({ state: 'open' }),
    cancel: async () => ({ state: 'void' }),
    refund: async () => ({ state: 'pending' }),
    async verify(rawBody, headers) {
      const atMs = signedAtMs(keys, rawBody, headers.get(SIGNATURE_HEADER), clock.now())
      return atMs === undefined ? undefined : eventOf(rawBody, atMs)
    },
    acknowledgement: { contentType: 'application/json', body: '{}' },
  }
}

/** What a signed body says; `other` if it is no report. */
function eventOf(rawBody: Uint8Array, atMs: number): CallbackEvent {
  const body = parsed(rawBody)
  const capture = shopCaptureInput.safeParse(body)
  if (capture.success) {
    const { reference: ref, amount } = capture.data
    return { eventId: `capture:${ref}`, ref, kind: 'captured', amount, atMs }
  }
  const refund = shopRefundInput.safeParse(body)
  if (!refund.success) return { eventId: '', ref: '', kind: 'other', amount: NOTHING, atMs }
  const { reference: ref, refundReference } = refund.data
  return { eventId: `refund:${refundReference}`, ref, kind: 'refunded', amount: NOTHING, atMs }
}

function parsed(rawBody: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(rawBody).toString('utf8'))
  } catch {
    return undefined
  }
}
