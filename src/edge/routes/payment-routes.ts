/** Buyers pay and cancel; providers call back. */

import { unreachable } from '../../base/assert.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import { cancelOrder } from '../../flows/money/close-orders.ts'
import type { MoneyContext } from '../../flows/money/money-context.ts'
import { recordCallback, startPayment } from '../../flows/money/pay-order.ts'
import { type FindOrdersContext, findOrder } from '../../flows/sell/find-orders.ts'
import { checkReturnUrl } from '../../payment/return-url.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { wireOrder } from '../answers.ts'
import { type Exchange, idParam, json, type Route, readBody, readBytes, route } from '../http/exchange.ts'
import { bodyInvalid, ProblemError, plainProblem, problem } from '../http/problem-response.ts'
import { UNRENDERED } from '../http/security-headers.ts'
import type { Identity } from '../identity.ts'

interface PaymentRouteParts {
  readonly find: FindOrdersContext
  readonly identity: Identity
  readonly money: MoneyContext
  /** By name; the first one is what a buyer gets who names none. */
  readonly describe: (order: Order) => string
  readonly onForged: (provider: string) => void
}

export function paymentRoutes(parts: PaymentRouteParts): readonly Route[] {
  return [
    route(buyerCalls.cancelOrder, cancel),
    route(buyerCalls.startPayment, pay),
    route(buyerCalls.callback, callback),
  ]

  async function cancel(exchange: Exchange): Promise<Response> {
    const id = idParam(exchange, 'id')
    const buyer = await parts.identity.buyer(exchange.request)
    const outcome = await cancelOrder(parts.money, id, order => order.buyer === buyer)
    if (outcome.kind === 'missing') return missing(id, buyer)
    if (outcome.kind === 'paid')
      throw new ProblemError(
        'order_paid',
        'The order is paid and can no longer be cancelled here. Ask the shop for a refund.',
      )
    return json(wireOrder(outcome.order))
  }

  async function pay(exchange: Exchange): Promise<Response> {
    const id = idParam(exchange, 'id')
    const buyer = await parts.identity.buyer(exchange.request)
    const wish = await readBody(exchange.request, buyerCalls.startPayment.body.schema)
    const provider = parts.money.providers.get(wish.provider ?? [...parts.money.providers.keys()][0] ?? '')
    if (provider === undefined) {
      throw bodyInvalid(
        'provider',
        `"provider" is one of: ${[...parts.money.providers.keys()].join(', ') || 'none is configured'}.`,
      )
    }
    if (wish.returnUrl !== undefined && checkReturnUrl(wish.returnUrl) === undefined) {
      throw bodyInvalid('returnUrl', '"returnUrl" must be an http(s) address or a path.')
    }
    const outcome = await startPayment(parts.money, provider, {
      order: id,
      buyer,
      returnUrl: wish.returnUrl,
      describe: parts.describe,
    })
    switch (outcome.kind) {
      case 'started':
        return json({ payment: outcome.payment, provider: provider.name, payUrl: outcome.payUrl }, 201)
      case 'missing':
        return missing(id, buyer)
      case 'paid':
        throw new ProblemError('order_paid')
      case 'closed':
        throw new ProblemError('order_closed', 'The order is closed. Get a new ticket to try again.')
      case 'busy':
        throw new ProblemError(
          'busy',
          'The payment provider does not answer. Ask again in a moment: it continues the same payment.',
        )
      default:
        return unreachable(outcome)
    }
  }

  /** Not in the ledger: reserved and on its way there, or not this buyer's. */
  async function missing(id: OrderId, buyer: BuyerId): Promise<Response> {
    const found = await findOrder(parts.find, id, buyer)
    if (found.kind === 'missing') throw new ProblemError('not_found', 'You have no such order.')
    if (found.kind === 'busy') return plainProblem('busy')
    throw new ProblemError('not_placed', 'The order is reserved and not placed yet. Ask again in a moment.')
  }

  async function callback(exchange: Exchange): Promise<Response> {
    const provider = parts.money.providers.get(exchange.params.provider ?? '')
    if (provider === undefined) throw new ProblemError('not_found')
    const event = provider.verify(await readBytes(exchange.request), exchange.request.headers)
    if (event === undefined) {
      parts.onForged(provider.name)
      return problem('signature_invalid')
    }
    await recordCallback(parts.money, provider.name, event)
    return new Response(provider.acknowledgement.body, {
      headers: { 'content-type': provider.acknowledgement.contentType, ...UNRENDERED },
    })
  }
}
