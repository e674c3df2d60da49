/** What buyers call, apart from the order itself: time, sales, session, ticket, their own orders. */

import type { BuyerTokens } from '../../admission/buyer-token.ts'
import type { RateLimits } from '../../admission/rate-limits.ts'
import { sessionCookie } from '../../admission/session.ts'
import type { TicketOffice } from '../../admission/ticket.ts'
import { unreachable } from '../../base/assert.ts'
import { toRfc3339 } from '../../base/clock.ts'
import type { Counted, Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { type FindOrdersContext, findOrder, ordersOfBuyer } from '../../flows/sell/find-orders.ts'
import { giveTicket } from '../../flows/sell/give-ticket.ts'
import type { Registry, StockView } from '../../flows/sell/live-item.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { type LeftOf, wireOrder, wireSale } from '../answers.ts'
import {
  bearerOf,
  type Exchange,
  idParam,
  json,
  jsonWithEtag,
  type Route,
  readBody,
  readQuery,
  route,
} from '../http/exchange.ts'
import { pageOf, toRead } from '../http/paging.ts'
import { noSuch, ProblemError, plainProblem, problem, rateLimitedProblem } from '../http/problem-response.ts'
import type { Identity } from '../identity.ts'

interface BuyerRouteParts {
  readonly find: FindOrdersContext
  readonly stock: StockView
  readonly registry: Registry
  readonly catalog: Catalog
  readonly tickets: TicketOffice
  readonly buyers: BuyerTokens
  readonly identity: Identity
  readonly random: Random
  readonly meters: Meters
  readonly limits: RateLimits
  readonly addressOf: (request: Request) => string
  readonly secureCookies: boolean
}

const SESSION_MS = 12 * 3600 * 1000

export function buyerRoutes(parts: BuyerRouteParts): readonly Route[] {
  const leftOf: LeftOf = item => parts.stock.leftOf(item)

  return [
    route(buyerCalls.time, () => time()),
    route(buyerCalls.sales, sales),
    route(buyerCalls.sale, sale),
    route(buyerCalls.signIn, session),
    route(buyerCalls.ticket, ticket),
    route(buyerCalls.ownOrders, ownOrders),
    route(buyerCalls.ownOrder, ownOrder),
  ]

  function time(): Response {
    const unixMs = parts.stock.nowMs()
    return json({ now: toRfc3339(unixMs), unixMs }, 200, { 'cache-control': 'no-store' })
  }

  async function sales({ request }: Exchange): Promise<Response> {
    const nowMs = parts.stock.nowMs()
    const list = await parts.catalog.list()
    return jsonWithEtag(request, { sales: list.map(one => wireSale(one, nowMs, leftOf)) })
  }

  async function sale(exchange: Exchange): Promise<Response> {
    const found = await parts.catalog.find(idParam(exchange, 'sale'))
    if (found === undefined) throw noSuch('sale')
    return jsonWithEtag(exchange.request, wireSale(found, parts.stock.nowMs(), leftOf))
  }

  /** With a shop's token: a cookie for the page. Without one: a guest, where guests are let in. */
  async function session({ request }: Exchange): Promise<Response> {
    const token = bearerOf(request)
    if (token !== undefined) {
      if ((await parts.buyers.verify(token)) === undefined) throw new ProblemError('unauthenticated')
      return new Response(null, { status: 204, headers: { 'set-cookie': cookie(token) } })
    }
    if (parts.buyers.issueGuest === undefined) throw new ProblemError('unauthenticated')
    const { buyer = `guest-${Buffer.from(parts.random.bytes(9)).toString('base64url')}` } = await readBody(
      request,
      buyerCalls.signIn.body.schema,
    )
    const guest = await parts.buyers.issueGuest(buyer, SESSION_MS)
    return json({ token: guest, buyer }, 200, { 'set-cookie': cookie(guest), 'cache-control': 'no-store' })
  }

  function cookie(token: string): string {
    return sessionCookie(token, { secure: parts.secureCookies, maxAgeS: SESSION_MS / 1000 })
  }

  /** Counted by the code it is answered with: given, or why not. */
  async function ticket(exchange: Exchange): Promise<Response> {
    try {
      const [outcome, answer] = await giveOrRefuse(exchange)
      parts.meters.count('ticket_asks', outcome)
      return answer
    } catch (error) {
      if (error instanceof ProblemError && (error.code === 'not_found' || error.code === 'unauthenticated'))
        parts.meters.count('ticket_asks', error.code)
      throw error
    }
  }

  async function giveOrRefuse(exchange: Exchange): Promise<[Counted['ticket_asks'][number], Response]> {
    const saleId = idParam(exchange, 'sale')
    const itemId = idParam(exchange, 'item')
    const found = await parts.catalog.find(saleId)
    if (found === undefined || !found.items.some(item => item.id === itemId)) throw noSuch('sale or item')
    const limited = await parts.limits.admitAddress(parts.addressOf(exchange.request))
    if (limited !== undefined) return ['rate_limited', rateLimitedProblem(limited)]
    const buyer = await parts.identity.buyer(exchange.request)
    const tooOften = await parts.limits.admitBuyer(buyer, itemId)
    if (tooOften !== undefined) return ['rate_limited', rateLimitedProblem(tooOften)]
    await readBody(exchange.request, buyerCalls.ticket.body.schema)
    const outcome = await giveTicket(found, parts.registry.get(itemId), buyer, parts.stock.nowMs())
    switch (outcome.kind) {
      case 'given': {
        const { attempt, notBeforeMs, expiresAtMs } = outcome.terms
        const signed = parts.tickets.issue({ sale: saleId, item: itemId, buyer, attempt, notBeforeMs, expiresAtMs })
        const body = { ticket: signed, attempt, notBefore: toRfc3339(notBeforeMs), expiresAt: toRfc3339(expiresAtMs) }
        return [outcome.kind, json(body, 201, { 'cache-control': 'no-store' })]
      }
      case 'attempts_used':
        return [outcome.kind, plainProblem('attempts_used')]
      case 'early': {
        const opensAt = toRfc3339(outcome.opensAtMs)
        const detail = `Tickets are given out shortly before the opening at ${opensAt}.`
        return [outcome.kind, problem('sale_not_open', { detail, more: { opensAt } })]
      }
      case 'over':
        return [outcome.kind, plainProblem('sale_over')]
      case 'busy':
        return [outcome.kind, plainProblem('busy')]
      default:
        return unreachable(outcome)
    }
  }

  async function ownOrders(exchange: Exchange): Promise<Response> {
    const buyer = await parts.identity.buyer(exchange.request)
    const { after, limit } = readQuery(exchange, buyerCalls.ownOrders.query)
    const { shown, next } = pageOf(await ordersOfBuyer(parts.find, buyer, after || undefined, toRead(limit)), limit)
    return json({ orders: shown.map(wireOrder), next }, 200, { 'cache-control': 'no-store' })
  }

  async function ownOrder(exchange: Exchange): Promise<Response> {
    const id = idParam(exchange, 'id')
    const buyer = await parts.identity.buyer(exchange.request)
    const outcome = await findOrder(parts.find, id, buyer)
    switch (outcome.kind) {
      case 'found':
        return json(wireOrder(outcome.order), 200, { 'cache-control': 'no-store' })
      case 'missing':
        throw new ProblemError('not_found', 'You have no such order.')
      case 'busy':
        return plainProblem('busy')
      default:
        return unreachable(outcome)
    }
  }
}
