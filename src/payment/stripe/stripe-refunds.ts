/**
 * Refunds, whole or in parts. Each is made once: its key is Stripe's idempotency key, which Stripe keeps for 24 hours, and stands in the
 * refund's metadata, which Stripe keeps for good. So the refunds that exist are read first, however long ago the first try was.
 *
 * A refund that failed afterwards (a card that was closed) gives the money back to the shop: the same key then makes another one.
 */

import type Stripe from 'stripe'
import type { PaymentKey, PaymentProvider, RefundRequest } from '../payment.ts'
import type { StripeCalls } from './stripe-calls.ts'
import { toStripeAmount } from './stripe-money.ts'
import type { StripePayments } from './stripe-payments.ts'
import { REF_KEY, REFUND_KEY, WHOLE_KEY } from './stripe-states.ts'

type Refunded = Awaited<ReturnType<PaymentProvider['refund']>>

const REFUNDS_MAX = 100

export async function refundPayment(
  { calls, payments }: { readonly calls: StripeCalls; readonly payments: StripePayments },
  payment: PaymentKey,
  { key, part }: RefundRequest,
  signal: AbortSignal,
): Promise<Refunded> {
  const found = await payments.read(payment, signal)
  const state = found?.reply.state
  const intent = found?.intent
  if (intent === undefined || (state !== 'captured' && state !== 'refunded')) return { state: 'not_captured' }

  const list = async () =>
    (await calls.call(signal, stripe => stripe.refunds.list({ payment_intent: intent.id, limit: REFUNDS_MAX }))).data
  const ofKey = ({ metadata }: Stripe.Refund) => metadata?.[REFUND_KEY] === key
  const refunds = await list()
  const tries = refunds.filter(ofKey)
  const standing = tries.find(stands)
  if (standing !== undefined) return stateOf([standing])
  const whole = part === undefined
  if (whole && state === 'refunded') return stateOf(refunds.filter(stands))

  const amount = whole ? undefined : toStripeAmount(part)
  if (!whole && (amount === undefined || part.currency.toLowerCase() !== intent.currency))
    throw calls.refused(`Stripe can't refund ${part.amount} minor units of ${part.currency} of this payment`)
  const params = {
    payment_intent: intent.id,
    ...(amount !== undefined && { amount }),
    metadata: { [REF_KEY]: payment.ref, [REFUND_KEY]: key, ...(whole && { [WHOLE_KEY]: 'yes' }) },
  }
  const made = await calls.create<Stripe.Refund | 'whole'>(
    signal,
    `stampede-${payment.ref}-refund-${key}${tries.length > 0 ? `-${tries.length}` : ''}`,
    (stripe, options) => stripe.refunds.create(params, options),
    // Another refund of all that was left was faster.
    ({ code }) => (whole && code === 'charge_already_refunded' ? 'whole' : undefined),
    // Stripe failed, and may have made it all the same.
    async () => (await list()).find(one => ofKey(one) && stands(one)),
  )
  return made === 'whole' ? { state: 'refunded' } : stateOf([made])
}

function stands({ status }: Stripe.Refund): boolean {
  return status !== 'failed' && status !== 'canceled'
}

function stateOf(refunds: readonly Stripe.Refund[]): Refunded {
  return { state: refunds.every(({ status }) => status === 'succeeded') ? 'refunded' : 'pending' }
}
