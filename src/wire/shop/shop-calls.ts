/** The calls of a shop that takes the money itself: it reports what it took, and what it gave back. */

import { orderAnswer } from '../answers.ts'
import { type Call, callsFor, json } from '../call.ts'
import { AT, ORDER } from '../calls/examples.ts'
import { shopCaptureInput, shopRefundAnswer, shopRefundInput } from './shop-shapes.ts'

const shop = callsFor('Buyers', 'provider')
const SIGNED =
  'Signed: stampede-signature is t=SECONDS,v1=HEX, the HMAC-SHA256 of "SECONDS.BODY" with SHOP_PAYMENT_SECRET; 300 seconds of clock difference are ' +
  'allowed. No answer, 503 and 409 not_placed: send the same body again, freshly signed.'
const CAPTURE = { order: ORDER.id, reference: 'INV-2026-0001', amount: ORDER.amount }
const REFUND = { order: ORDER.id, reference: CAPTURE.reference, refundReference: 'CN-2026-0001' }

export const shopCalls = {
  captures: shop.post('/api/payments/shop/captures', 'The shop has taken the money of an order', {
    more: `Idempotent by reference. Money that pays nothing has to go back: then refundDue is true, and the event stampede.payment.refund_due says so. ${SIGNED}`,
    takes: ['stampede-signature'],
    body: { schema: shopCaptureInput, example: CAPTURE },
    answers: { 200: json('The order, paid. Again: the same.', orderAnswer, { ...ORDER, state: 'paid', paidAt: AT }) },
    problems: [
      'signature_invalid',
      'not_found',
      'order_closed',
      'order_paid',
      'not_placed',
      'reference_used',
      'payments_used',
      'amount_mismatch',
    ],
  }),
  refunds: shop.post('/api/payments/shop/refunds', 'The shop has given the money of a payment back', {
    more: `Answers stampede.payment.refund_due. Idempotent by reference. ${SIGNED}`,
    takes: ['stampede-signature'],
    body: { schema: shopRefundInput, example: REFUND },
    answers: {
      200: json('It is recorded. Again: the same.', shopRefundAnswer, {
        ...REFUND,
        amount: ORDER.amount,
        state: 'refunded',
      }),
    },
    problems: ['signature_invalid', 'not_found', 'reference_used', 'refund_not_due'],
  }),
} satisfies Record<string, Call>
