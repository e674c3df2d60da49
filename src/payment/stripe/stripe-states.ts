/** What a Checkout Session or PaymentIntent says, as a state of a payment. Pure. */

import type Stripe from 'stripe'
import type { ProviderReply } from '../payment.ts'
import { fromStripeAmount } from './stripe-money.ts'

/** Our ref, in the metadata of everything made here: other software may use the same account. */
export const REF_KEY = 'stampede_ref'
export const METHOD_KEY = 'stampede_method'
/** In the metadata of a refund: the key it was asked for with; and that it is of all that was left. */
export const REFUND_KEY = 'stampede_refund'
export const WHOLE_KEY = 'stampede_whole'

type Intent = Stripe.PaymentIntent

/** @param intent the session's own, with its latest charge; undefined: no buyer has tried to pay yet */
export function sessionReply(session: Stripe.Checkout.Session, intent: Intent | undefined): ProviderReply {
  if (intent?.status === 'succeeded') return intentReply(intent)
  switch (session.status) {
    case 'expired':
      return { state: 'void', why: 'expired' }
    case 'complete':
      // Completed is not paid: with a delayed method the money is on its way, or has failed to come. The page can't be used again.
      return intent?.status === 'processing' ? { state: 'open' } : { state: 'void', why: 'declined' }
    default:
      return openReply(intent)
  }
}

export function intentReply(intent: Intent): ProviderReply {
  if (intent.status === 'canceled') return { state: 'void', why: 'cancelled' }
  if (intent.status !== 'succeeded') return openReply(intent)
  const charge = typeof intent.latest_charge === 'object' ? intent.latest_charge : null
  return {
    state: charge?.refunded ? 'refunded' : 'captured',
    amount: fromStripeAmount(intent.amount_received, intent.currency),
    capturedAtMs: (charge?.created ?? intent.created) * 1000,
  }
}

function openReply(intent: Intent | undefined): ProviderReply {
  const declined = intent?.status === 'requires_payment_method' && intent.last_payment_error !== null
  return declined ? { state: 'open', declined } : { state: 'open' }
}
