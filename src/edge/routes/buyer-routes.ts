/** What buyers call, apart from the order itself: time, sales, session, ticket, their own orders. */

import { createHash } from 'node:crypto'
import type { BuyerTokens } from '../../admission/buyer-token.ts'
import type { RateLimits } from '../../admission/rate-limits.ts'
import { sessionCookie } from '../../admission/session.ts'
import type { TicketOffice } from '../../admission/ticket.ts'
import { unreachable } from '../../base/assert.ts'
import { toRfc3339 } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import { isBuyerId } from '../../domain/ids.ts'
import { giveTicket } from '../../flows/give-ticket.ts'
import type { Shelf } from '../../flows/on-sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { NearGate } from '../../gate/near.ts'
import type { Orders } from '../../ledger/orders.ts'
import { bearerOf, cursorOf, type Exchange, idParam, json, limitOf, type Route, readBody } from '../exchange.ts'
import type { Identity } from '../identity.ts'
import { ProblemError, plainProblem, problem } from '../problems.ts'
import { rateLimitedProblem } from '../rate-limited.ts'
import { sessionInput } from '../schemas.ts'
import { type LeftOf, wireOrder, wireSale } from '../wire.ts'

interface BuyerRouteParts {
  readonly gate: Gate
  readonly near: NearGate
  readonly shelf: Shelf
  readonly catalog: Catalog
  readonly orders: Orders
  readonly tickets: TicketOffice
  readonly buyers: BuyerTokens
  readonly identity: Identity
  readonly random: Random
  readonly limits: RateLimits
  readonly addressOf: (request: Request) => string
  readonly secureCookies: boolean
}

const SESSION_MS = 12 * 3600 * 1000
const ORDERS_PAGE_MAX = 100

export function buyerRoutes(parts: BuyerRouteParts): readonly Route[] {
  const leftOf: LeftOf = item => parts.near.lookNow(item)?.left

  return [
    { method: 'GET', path: '/api/time', handle: () => time() },
    { method: 'GET', path: '/api/sales', handle: sales },
    { method: 'GET', path: '/api/sales/{sale}', handle: sale },
    { method: 'POST', path: '/api/session', handle: session },
    { method: 'POST', path: '/api/sales/{sale}/items/{item}/ticket', handle: ticket },
    { method: 'GET', path: '/api/orders', handle: ownOrders },
    { method: 'GET', path: '/api/orders/{id}', handle: ownOrder },
  ]

  function time(): Response {
    const unixMs = parts.near.nowMs()
    return json({ now: toRfc3339(unixMs), unixMs }, 200, { 'cache-control': 'no-store' })
  }

  async function sales({ request }: Exchange): Promise<Response> {
    const nowMs = parts.near.nowMs()
    const list = await parts.catalog.list()
    return withEtag(request, { sales: list.map(one => wireSale(one, nowMs, leftOf)) })
  }

  async function sale(exchange: Exchange): Promise<Response> {
    const found = await parts.catalog.find(idParam(exchange, 'sale'))
    if (found === undefined) throw new ProblemError('not_found', 'There is no such sale.')
    return withEtag(exchange.request, wireSale(found, parts.near.nowMs(), leftOf))
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
      sessionInput,
    )
    if (!isBuyerId(buyer)) {
      throw new ProblemError(
        'body_invalid',
        '"buyer" must have 1 to 128 characters, none of them a control character.',
        { field: 'buyer' },
      )
    }
    const guest = await parts.buyers.issueGuest(buyer, SESSION_MS)
    return json({ token: guest, buyer }, 200, { 'set-cookie': cookie(guest), 'cache-control': 'no-store' })
  }

  function cookie(token: string): string {
    return sessionCookie(token, { secure: parts.secureCookies, maxAgeS: SESSION_MS / 1000 })
  }

  async function ticket(exchange: Exchange): Promise<Response> {
    const saleId = idParam(exchange, 'sale')
    const itemId = idParam(exchange, 'item')
    const found = await parts.catalog.find(saleId)
    if (found === undefined || !found.items.some(item => item.id === itemId))
      throw new ProblemError('not_found', 'There is no such sale or item.')
    const limited = parts.limits.admitAddress(parts.addressOf(exchange.request))
    if (limited !== undefined) return rateLimitedProblem(limited)
    const buyer = await parts.identity.buyer(exchange.request)
    const tooOften = parts.limits.admitBuyer(buyer, itemId)
    if (tooOften !== undefined) return rateLimitedProblem(tooOften)
    const outcome = await giveTicket(parts, found, parts.shelf.get(itemId), buyer)
    switch (outcome.kind) {
      case 'given': {
        const { attempt, notBeforeMs, expiresAtMs } = outcome.terms
        const signed = parts.tickets.issue({ sale: saleId, item: itemId, buyer, attempt, notBeforeMs, expiresAtMs })
        const body = { ticket: signed, attempt, notBefore: toRfc3339(notBeforeMs), expiresAt: toRfc3339(expiresAtMs) }
        return json(body, 201, { 'cache-control': 'no-store' })
      }
      case 'attempts_used':
        return plainProblem('attempts_used')
      case 'early': {
        const opensAt = toRfc3339(outcome.opensAtMs)
        return problem('sale_not_open', {
          detail: `Tickets are given out shortly before the opening at ${opensAt}.`,
          more: { opensAt },
        })
      }
      case 'over':
        return plainProblem('sale_over')
      case 'busy':
        return plainProblem('busy')
      default:
        return unreachable(outcome)
    }
  }

  async function ownOrders(exchange: Exchange): Promise<Response> {
    const buyer = await parts.identity.buyer(exchange.request)
    const limit = limitOf(exchange, 50, ORDERS_PAGE_MAX)
    const found = await parts.orders.ofBuyer(buyer, cursorOf(exchange), limit)
    const next = found.length === limit ? (found.at(-1)?.id ?? null) : null
    return json({ orders: found.map(wireOrder), next }, 200, { 'cache-control': 'no-store' })
  }

  async function ownOrder(exchange: Exchange): Promise<Response> {
    const id = idParam(exchange, 'id')
    const buyer = await parts.identity.buyer(exchange.request)
    const [order] = await parts.orders.find([id])
    // Another buyer's order is not there, for all this buyer can tell.
    if (order === undefined || order.buyer !== buyer) throw new ProblemError('not_found', 'You have no such order.')
    return json(wireOrder(order), 200, { 'cache-control': 'no-store' })
  }
}

function withEtag(request: Request, body: unknown): Response {
  const text = JSON.stringify(body)
  const etag = `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"`
  const headers = { etag, 'cache-control': 'no-cache', 'content-type': 'application/json' }
  const given = request.headers.get('if-none-match')
  if (given?.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag))
    return new Response(null, { status: 304, headers })
  return new Response(text, { headers })
}
