/** Buyers pay and cancel; providers call back. */

import { type Fault, onFault } from '../../base/fault.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'
import { cancelOrder } from '../../flows/money/close-orders.ts'
import { startPayment } from '../../flows/money/pay-order.ts'
import { recordCallback } from '../../flows/money/record-callback.ts'
import { offeredBy } from '../../flows/operate/payment-offer.ts'
import { findOrder } from '../../flows/sell/find-orders.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import { checkReturnUrl } from '../../payment/return-url.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { wireOrder } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { BODY_BYTES_MAX, idParam, json, readBody, readBytes, uncached } from '../http/exchange.ts'
import { answerBy, bodyInvalid, ProblemError, plainProblem, problem } from '../http/problem-response.ts'
import { UNRENDERED } from '../http/security-headers.ts'
import { demandContact } from './parcel-routes.ts'

const PAID = 'The order is paid and can no longer be cancelled here. Ask the shop for a refund.'
const PROVIDER_AWAY = 'The payment provider does not answer. Ask again in a moment: it continues the same payment.'

const handlers = {
  async cancelOrder(edge, exchange) {
    const id = idParam(exchange, 'id')
    const buyer = await edge.identity.buyer(exchange.request)
    return answerBy(await cancelOrder(edge.money, id, order => order.buyer === buyer), {
      closed: ({ order }) => json(wireOrder(order)),
      missing: () => missing(edge, id, buyer),
      paid: () => new ProblemError('order_paid', PAID),
    })
  },

  async startPayment(edge, exchange) {
    const { money, registry, inquiries } = edge
    const order = idParam(exchange, 'id')
    const buyer = await edge.identity.buyer(exchange.request)
    const {
      returnUrl,
      provider: name,
      method: wanted,
      payer,
    } = await readBody(exchange.request, buyerCalls.startPayment.body.schema)
    const chosen = await providerOf(edge, order, buyer, name)
    if (chosen === undefined) return missing(edge, order, buyer)
    const { provider } = chosen
    const methods = provider.methods.map(one => one.name)
    const method = wanted ?? methods[0] ?? ''
    if (!methods.includes(method))
      throw bodyInvalid('method', `"method" of ${provider.name} is one of: ${methods.join(', ')}.`)
    if (returnUrl !== undefined && checkReturnUrl(returnUrl) === undefined)
      throw bodyInvalid('returnUrl', '"returnUrl" must be an http(s) address or a path.')
    if (chosen.sale !== undefined) await demandContact(edge, chosen.order, chosen.sale)
    const describe = (one: { id: string; item: string }) => registry.get(one.item)?.item.name ?? `Order ${one.id}`
    const address = edge.addressOf(exchange.request)
    const wish = { order, buyer, method, returnUrl, address, payer, describe }
    return answerBy(await startPayment({ ...money, inquire: id => inquiries.ask(id) }, provider, wish), {
      started: ({ payment, payUrl, qr, client }) =>
        uncached({ payment, provider: provider.name, method, payUrl, qr, client }, 201),
      missing: () => missing(edge, order, buyer),
      paid: () => new ProblemError('order_paid'),
      closed: () => new ProblemError('order_closed', 'The order is closed. Get a new ticket to try again.'),
      payments_used: () => new ProblemError('payments_used'),
      busy: () => new ProblemError('busy', PROVIDER_AWAY),
      refused: () => new ProblemError('payment_refused'),
    })
  },

  async callback({ money, onForged }, { params, request }) {
    const provider = money.providers.get(params.provider ?? '')
    // A shop's own till reports at addresses of its own (`shop-routes.ts`).
    if (provider === undefined || provider.reports) throw new ProblemError('not_found')
    const body = await readBytes(request, provider.callbackBytesMax ?? BODY_BYTES_MAX)
    // It can't be judged now: the provider is told to repeat it.
    const event = await onFault(() => provider.verify(body, request.headers), unjudged)
    if (event === 'unjudged')
      throw new ProblemError('busy', 'The callback can not be verified at the moment. Repeat it.')
    if (event === undefined) {
      onForged(provider.name)
      return problem('signature_invalid')
    }
    await recordCallback(money, provider.name, event)
    const { acknowledgement } = provider
    return new Response(acknowledgement.body, {
      headers: { 'content-type': acknowledgement.contentType, ...UNRENDERED },
    })
  },
} satisfies Handlers<typeof buyerCalls>

function unjudged(fault: Fault): 'unjudged' {
  if (!fault.retryable) throw fault
  return 'unjudged'
}

export const paymentRoutes = (edge: EdgeContext) => routesOf(edge, buyerCalls, handlers)

/** One that the order's sale offers: by its name, else the first; with the order and its sale. Undefined: there is no such order. */
async function providerOf(
  { money, find, catalog }: EdgeContext,
  id: OrderId,
  buyer: BuyerId,
  name: string | undefined,
): Promise<
  | { readonly provider: PaymentProvider; readonly order: Order | Reservation; readonly sale: Sale | undefined }
  | undefined
> {
  const found = await findOrder(find, id, buyer)
  if (found.kind !== 'found') return undefined
  const sale = await catalog.find(found.order.sale)
  // A sale that is not shown any more: what is configured.
  const offered = sale === undefined ? [...money.providers.values()] : offeredBy(money.providers, sale)
  if (name === undefined && offered[0] === undefined) throw new ProblemError('no_payment_provider')
  const provider = name === undefined ? offered[0] : offered.find(one => one.name === name)
  const names = offered.map(one => one.name).join(', ')
  if (provider === undefined) throw bodyInvalid('provider', `"provider" is one of: ${names || 'none is offered'}.`)
  return { provider, order: found.order, sale }
}

/** Not in the ledger: reserved and on its way there, or not this buyer's. */
async function missing({ find }: EdgeContext, id: OrderId, buyer: BuyerId): Promise<Response> {
  return answerBy(await findOrder(find, id, buyer), {
    found: () => new ProblemError('not_placed', 'The order is reserved and not placed yet. Ask again in a moment.'),
    missing: () => new ProblemError('not_found', 'You have no such order.'),
    busy: () => plainProblem('busy'),
  })
}
