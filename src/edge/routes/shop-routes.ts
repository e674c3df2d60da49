/** A shop that takes the money itself reports what it took and what it gave back. A forged report is counted like a forged callback. */

import type { z } from 'zod'
import { reportCapture, reportRefund } from '../../flows/money/report-payment.ts'
import { mayBeReserved } from '../../flows/sell/find-orders.ts'
import { shopCalls } from '../../wire/shop/shop-calls.ts'
import { wireOrder } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { json, parseBody, readBytes } from '../http/exchange.ts'
import { answerBy, ProblemError } from '../http/problem-response.ts'

const GO_BACK = 'This money pays nothing and has to go back: report it at /api/payments/shop/refunds when it is done.'
const WENT_BACK = 'This money paid nothing, and went back.'
const CLOSED = 'The order was closed before this money was reported.'
const PAID = 'The order is paid by another payment.'
const OTHER_REFUND =
  'This refund was confirmed before under another "refundReference". Check that the buyer did not get the money twice.'

const handlers = {
  async captures(edge, { request }) {
    const { provider, body, event } = await readReport(edge, request, shopCalls.captures.body.schema)
    const context = { ...edge.money, mayBeReserved: (id: string) => mayBeReserved(edge.find, id) }
    return answerBy(await reportCapture(context, { ...body, provider: provider.name, atMs: event.atMs }), {
      paid: ({ order }) => json(wireOrder(order)),
      late: ({ refundDue }) => new ProblemError('order_closed', `${CLOSED} ${goesBack(refundDue)}`, { refundDue }),
      second: ({ refundDue }) => new ProblemError('order_paid', `${PAID} ${goesBack(refundDue)}`, { refundDue }),
      wrong_amount: ({ order }) => {
        const { amount: expected } = wireOrder(order)
        const detail = `The order costs ${expected.amount} ${expected.currency} in minor units. Nothing was recorded.`
        return new ProblemError('amount_mismatch', detail, { expected })
      },
      reference_used: () => new ProblemError('reference_used', 'This "reference" belongs to another order.'),
      payments_used: () =>
        new ProblemError('payments_used', 'Too many payments of this order were reported. This one was not recorded.'),
      not_placed: () =>
        new ProblemError('not_placed', 'The order may be reserved and not placed yet. Report it again.'),
      missing: () => new ProblemError('not_found', 'There is no such order. Give the money back.'),
    })
  },

  async refunds(edge, { request }) {
    const { provider, body } = await readReport(edge, request, shopCalls.refunds.body.schema)
    return answerBy(await reportRefund(edge.money, { ...body, part: body.part, provider: provider.name }), {
      refunded: ({ amount }) => json({ ...body, amount, state: 'refunded' }),
      other_refund: () => new ProblemError('reference_used', OTHER_REFUND),
      reference_used: () => new ProblemError('reference_used', 'This "reference" belongs to another order.'),
      not_due: () => new ProblemError('refund_not_due'),
      missing: () =>
        new ProblemError('not_found', 'No payment was reported under this "reference", or it has no such "part".'),
    })
  },
} satisfies Handlers<typeof shopCalls>

export const shopRoutes = (edge: EdgeContext) => routesOf(edge, shopCalls, handlers)

const goesBack = (refundDue: boolean) => (refundDue ? GO_BACK : WENT_BACK)

/** The signature is judged before anything that the body says. */
async function readReport<T>({ money, onForged }: EdgeContext, request: Request, schema: z.ZodType<T>) {
  const provider = [...money.providers.values()].find(one => one.reports)
  if (provider === undefined)
    throw new ProblemError('not_found', 'The shop takes no payments itself here: PAYMENT_PROVIDERS does not name shop.')
  const bytes = await readBytes(request)
  const event = await provider.verify(bytes, request.headers)
  if (event === undefined) {
    onForged(provider.name)
    throw new ProblemError('signature_invalid', NOT_SIGNED)
  }
  return { provider, event, body: parseBody(bytes, schema) }
}

const NOT_SIGNED =
  'stampede-signature is missing, more than 300 seconds off, or not the HMAC-SHA256 of "t.body" with SHOP_PAYMENT_SECRET. Sign the very bytes that are sent.'
