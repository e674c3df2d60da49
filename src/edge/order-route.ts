/**
 * `POST /api/sales/{sale}/items/{item}/orders`: the hot path. What wins, first to last: unknown sale or item → this buyer and attempt
 * have an order already → window, pause, sold out (no valid ticket needed, no limits, the cheapest bytes there are) → rate limits → ticket
 * → body.
 */

import type { RateLimited } from '../admission/rate-limit-policy.ts'
import type { RateLimits } from '../admission/rate-limits.ts'
import type { TicketClaims, TicketOffice } from '../admission/ticket.ts'
import { unreachable } from '../base/assert.ts'
import { toRfc3339 } from '../base/clock.ts'
import type { Counted } from '../base/meters.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { isId } from '../domain/ids.ts'
import type { TakeOrderOutcome } from '../domain/outcomes.ts'
import { EARLY_WAIT_MS, type LiveItem, type Registry } from '../flows/sell/live-item.ts'
import { repeatOrder } from '../flows/sell/repeat-order.ts'
import type { SellContext } from '../flows/sell/sell-context.ts'
import { standingClosed } from '../flows/sell/seller.ts'
import { takeOrder } from '../flows/sell/take-order.ts'
import { buyerCalls } from '../wire/calls/buyer-calls.ts'
import { wireOrder } from './answers.ts'
import { bearerIn, bearerOf, bearerStart, readBody } from './http/exchange.ts'
import { plainProblem, problem, rateLimitedProblem } from './http/problem-response.ts'
import { UNRENDERED } from './http/security-headers.ts'

interface OrderRouteParts {
  readonly registry: Registry
  readonly sell: SellContext
  readonly tickets: TicketOffice
  readonly catalog: Catalog
  readonly limits: RateLimits
  /** The limiter's key for the request's sender. */
  readonly addressOf: (request: Request) => string
}

export function createOrderRoute(parts: OrderRouteParts) {
  const { registry, sell, tickets, limits } = parts
  const { meters, view } = sell

  function counted(outcome: Counted['order_asks'][number], answer: Response): Response {
    meters.count('order_asks', outcome)
    return answer
  }

  function toResponse(outcome: TakeOrderOutcome): Response {
    return counted(outcome.kind === 'same_reserved' ? 'same' : outcome.kind, answerTo(outcome))
  }

  /** Answers at once where it can: the crowd that can't win costs no promise. */
  return function order(request: Request, sale: string, item: string): Response | Promise<Response> {
    const live = registry.get(item)
    if (live === undefined || live.sale.id !== sale) return orderElsewhere(request, sale, item)

    const header = request.headers.get('authorization')
    const ticket = header === null ? undefined : bearerIn(header)
    if (header === null || ticket === undefined) return orderAnew(request, live, undefined)
    // Read inside the header itself: the ticket is copied out of it only where it is verified.
    const at = bearerStart(header)
    const buyer = at > 0 ? tickets.peekBuyer(header, at) : tickets.peekBuyer(ticket)
    if (buyer !== undefined && live.seller.knows(buyer)) return orderOfHolder(request, live, ticket)
    return orderAnew(request, live, ticket)
  }

  /** The ticket names a buyer who has an order of this item. Only a verified ticket gets to see it. */
  async function orderOfHolder(request: Request, live: LiveItem, ticket: string): Promise<Response> {
    const claims = claimsFor(tickets.verify(ticket), live.sale.id, live.item.id)
    if (claims !== undefined) {
      const repeated = await repeatOrder(sell, live, live.item.id, claims.buyer, claims.attempt)
      if (repeated !== undefined) return toResponse(repeated)
    }
    return orderAnew(request, live, ticket)
  }

  function orderAnew(request: Request, live: LiveItem, ticket: string | undefined): Response | Promise<Response> {
    const refused = live.seller.standing()
    if (refused !== undefined && !(refused.kind === 'early' && refused.opensAtMs - view.nowMs() <= EARLY_WAIT_MS))
      return toResponse(refused)

    const limited = limits.admitAddress(parts.addressOf(request))
    if (!(limited instanceof Promise)) return orderFrom(request, live, ticket, limited)
    return limited.then(late => orderFrom(request, live, ticket, late))
  }

  /** The address has been judged. */
  function orderFrom(
    request: Request,
    live: LiveItem,
    ticket: string | undefined,
    limited: RateLimited | undefined,
  ): Response | Promise<Response> {
    if (limited !== undefined) return counted('rate_limited', rateLimitedProblem(limited))
    const claims = ticket === undefined ? undefined : claimsFor(tickets.verify(ticket), live.sale.id, live.item.id)
    if (claims === undefined || view.nowMs() >= claims.expiresAtMs)
      return counted('ticket_invalid', plainProblem('ticket_invalid'))
    // Only a valid ticket names its buyer reliably, so the buyer's limit comes after it.
    const tooOften = limits.admitBuyer(claims.buyer, live.item.id)
    if (!(tooOften instanceof Promise)) return orderOf(request, live, claims, tooOften)
    return tooOften.then(late => orderOf(request, live, claims, late))
  }

  /** The buyer has been judged. */
  function orderOf(
    request: Request,
    live: LiveItem,
    claims: TicketClaims,
    tooOften: RateLimited | undefined,
  ): Response | Promise<Response> {
    if (tooOften !== undefined) return counted('rate_limited', rateLimitedProblem(tooOften))
    return bodyless(request) ? takeIt(live, claims, 1) : readAndTake(request, live, claims)
  }

  async function readAndTake(request: Request, live: LiveItem, claims: TicketClaims): Promise<Response> {
    const { quantity } = await readBody(request, buyerCalls.takeOrder.body.schema).catch((error: unknown) => {
      meters.count('order_asks', 'body_invalid')
      throw error
    })
    if (!Number.isInteger(quantity) || quantity < 1 || quantity > live.item.quantityMax) {
      meters.count('order_asks', 'quantity_invalid')
      return problem('quantity_invalid', {
        detail: `Between 1 and ${live.item.quantityMax} can be ordered at a time.`,
        more: { field: 'quantity', quantityMax: live.item.quantityMax },
      })
    }
    return takeIt(live, claims, quantity)
  }

  function takeIt(live: LiveItem, { buyer, attempt }: TicketClaims, quantity: number): Response | Promise<Response> {
    const click = { buyer, attempt, quantity }
    const refused = live.seller.refusal(click)
    return refused === undefined ? takeOrder(sell, live, click).then(toResponse) : toResponse(refused)
  }

  /** Not in this process's gate: unknown, not warmed yet, or long over. A valid ticket still finds its order. */
  async function orderElsewhere(request: Request, saleId: string, itemId: string): Promise<Response> {
    if (!isId(saleId) || !isId(itemId)) return counted('not_found', plainProblem('not_found'))
    const sale = await parts.catalog.find(saleId)
    if (sale === undefined || !sale.items.some(item => item.id === itemId))
      return counted('not_found', plainProblem('not_found'))
    const ticket = bearerOf(request)
    const claims = ticket === undefined ? undefined : claimsFor(tickets.verify(ticket), saleId, itemId)
    if (claims !== undefined) {
      const repeated = await repeatOrder(sell, undefined, itemId, claims.buyer, claims.attempt)
      if (repeated !== undefined) return toResponse(repeated)
    }
    return toResponse(standingClosed(sale, view.nowMs()))
  }
}

/** A ticket of another sale or item is no ticket here. */
function claimsFor(claims: TicketClaims | undefined, sale: string, item: string): TicketClaims | undefined {
  return claims !== undefined && claims.sale === sale && claims.item === item ? claims : undefined
}

/** True when there is certainly no body, without touching the body itself. */
function bodyless(request: Request): boolean {
  const length = request.headers.get('content-length')
  return length === '0' || (length === null && !request.headers.has('transfer-encoding'))
}

function answerTo(outcome: TakeOrderOutcome): Response {
  switch (outcome.kind) {
    case 'placed':
      return orderResponse(outcome.order.id, JSON.stringify(wireOrder(outcome.order)), 201)
    case 'same':
      return orderResponse(outcome.order.id, JSON.stringify(wireOrder(outcome.order)), 200)
    case 'reserved':
      return orderResponse(outcome.reservation.id, JSON.stringify(wireOrder(outcome.reservation)), 202)
    case 'same_reserved':
      return orderResponse(outcome.reservation.id, JSON.stringify(wireOrder(outcome.reservation)), 200)
    case 'sold_out':
      return plainProblem('sold_out')
    case 'paused':
      return plainProblem('sale_paused')
    case 'over':
      return plainProblem('sale_over')
    case 'attempts_used':
      return plainProblem('attempts_used')
    case 'busy':
      return plainProblem('busy')
    case 'not_enough':
      return problem('not_enough', { detail: `${outcome.left} left.`, more: { left: outcome.left } })
    case 'early':
      return problem('sale_not_open', {
        detail: `It opens at ${toRfc3339(outcome.opensAtMs)}.`,
        more: { opensAt: toRfc3339(outcome.opensAtMs) },
      })
    default:
      return unreachable(outcome)
  }
}

function orderResponse(id: string, body: string, status: number): Response {
  return new Response(body, {
    status,
    headers: { 'content-type': 'application/json', location: `/api/orders/${id}`, ...UNRENDERED },
  })
}
