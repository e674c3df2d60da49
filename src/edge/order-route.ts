/**
 * `POST /api/sales/{sale}/items/{item}/orders`: the hot path. What wins, first to last: unknown sale or item → this buyer and attempt
 * have an order already → window, pause, sold out, too many before it in the queue (no valid ticket needed, no limits, the cheapest bytes there are) → denied addresses
 * and rate limits → ticket, denied buyers → body → units held unpaid. A sale that is not known here counts against the general limit of its sender, and asking again and again for an order against its
 * buyer's own, which is far beyond what any client does.
 */

import { networkOf } from '../admission/networks.ts'
import type { RateLimited } from '../admission/rate-limit-policy.ts'
import type { TicketClaims } from '../admission/ticket.ts'
import { unreachable } from '../base/assert.ts'
import { toRfc3339 } from '../base/clock.ts'
import type { Flight } from '../base/flight.ts'
import type { Counted } from '../base/meters.ts'
import type { ClickTrace } from '../base/trace.ts'
import { type ItemId, isId, type SaleId } from '../domain/ids.ts'
import type { Order, Reservation } from '../domain/order.ts'
import type { TakeOrderOutcome } from '../domain/outcomes.ts'
import { contactFault, type Parcel } from '../domain/parcel.ts'
import type { Sale } from '../domain/sale.ts'
import { EARLY_WAIT_MS, isCrowded, type LiveItem } from '../flows/sell/live-item.ts'
import { repeatOrder } from '../flows/sell/repeat-order.ts'
import { standingClosed } from '../flows/sell/seller.ts'
import { takeOrder } from '../flows/sell/take-order.ts'
import type { RefusalReason } from '../wire/abuse/refusal-reasons.ts'
import { buyerCalls } from '../wire/calls/buyer-calls.ts'
import { wireOrder } from './answers.ts'
import { admitCall, type EdgeContext } from './edge-context.ts'
import { bearerIn, bearerOf, bearerStart, readBody } from './http/exchange.ts'
import { contactInvalid, ProblemError, plainProblem, problem, rateLimitedProblem } from './http/problem-response.ts'
import { UNRENDERED } from './http/security-headers.ts'
import { type ClickTracer, tracedAnswer } from './traced-answer.ts'

type OrderContext = Pick<
  EdgeContext,
  | 'registry'
  | 'sell'
  | 'tickets'
  | 'ticketBinding'
  | 'catalog'
  | 'orderLimits'
  | 'callLimits'
  | 'lists'
  | 'budget'
  | 'parcelDesk'
  | 'addressOf'
  | 'asks'
  | 'refusals'
> & {
  /** Undefined: made-up clicks, of which nothing is kept. */
  readonly flight?: Flight
  /** Undefined: nothing is traced. */
  readonly clickTracer?: ClickTracer | undefined
}

/** `{"metadata":{"a":""}}` */
const PARCEL_BYTES_MIN = 21

type AskOutcome = Counted['order_asks'][number]

export class OrderRoute {
  readonly #edge: OrderContext

  constructor(edge: OrderContext) {
    this.#edge = edge
  }

  /** Answers at once where it can: the crowd that can't win costs no promise. */
  order(request: Request, sale: string, item: string): Response | Promise<Response> {
    const { registry, tickets } = this.#edge
    const live = registry.get(item)
    if (live === undefined || live.sale.id !== sale) return this.#orderElsewhere(request, sale, item)

    const header = request.headers.get('authorization') ?? ''
    // In the usual spelling the ticket is read inside the header itself, and never copied out of it.
    const at = bearerStart(header)
    const ticket = at > 0 ? header : (bearerIn(header) ?? '')
    const buyer = tickets.peekBuyer(ticket, at)
    if (buyer !== undefined && live.seller.knows(buyer)) return this.#orderOfHolder(request, live, ticket, at)
    return this.#orderAnew(request, live, ticket, at)
  }

  /** The ticket names a buyer who has an order of this item. Only a verified ticket gets to see it. */
  async #orderOfHolder(request: Request, live: LiveItem, ticket: string, at: number): Promise<Response> {
    const claims = this.#verify(request, ticket, at, live.sale.id, live.item.id)
    const repeated = claims && (await this.#repeat(request, live, live.sale, claims))
    return repeated ?? this.#orderAnew(request, live, ticket, at)
  }

  /** No closure on this way: a crowd that the gate refuses would pay for each. */
  #orderAnew(request: Request, live: LiveItem, ticket: string, at: number): Response | Promise<Response> {
    const { sell, orderLimits, lists, addressOf } = this.#edge
    const refused = live.seller.standing()
    if (refused !== undefined && !(refused.kind === 'early' && refused.opensAtMs - sell.view.nowMs() <= EARLY_WAIT_MS))
      return this.#toResponse(refused, live.sale.id)
    if (isCrowded(live)) return this.#counted('crowded', plainProblem('busy'), live.sale.id)

    const address = addressOf(request)
    const access = lists.ofAddress(address)
    if (access === 'deny') return this.#refused('denied', plainProblem('denied'), live.sale.id, request)
    const limited = access === 'allow' ? undefined : orderLimits.admitAddress(address)
    if (!(limited instanceof Promise)) return this.#orderFrom(request, live, ticket, at, limited)
    return limited.then(late => this.#orderFrom(request, live, ticket, at, late))
  }

  /** The address has been judged. */
  #orderFrom(request: Request, live: LiveItem, ticket: string, at: number, limited: RateLimited | undefined) {
    if (limited !== undefined) return this.#refused('rate_limited', rateLimitedProblem(limited), live.sale.id, request)
    const { sell, orderLimits, lists } = this.#edge
    const claims = this.#verify(request, ticket, at, live.sale.id, live.item.id)
    if (claims === undefined || sell.view.nowMs() >= claims.expiresAtMs)
      return this.#refused('ticket_invalid', plainProblem('ticket_invalid'), live.sale.id, request)
    // Only a valid ticket names its buyer reliably, so the buyer's limit comes after it.
    const access = lists.ofTicket(claims)
    if (access === 'deny') return this.#refused('denied', plainProblem('denied'), live.sale.id, request)
    const tooOften = access === 'allow' ? undefined : orderLimits.admitBuyer(claims.buyer, live.item.id)
    if (!(tooOften instanceof Promise)) return this.#orderBy(request, live, claims, tooOften)
    return tooOften.then(late => this.#orderBy(request, live, claims, late))
  }

  /** The buyer has been judged. */
  #orderBy(request: Request, live: LiveItem, claims: TicketClaims, tooOften: RateLimited | undefined) {
    if (tooOften !== undefined)
      return this.#refused('rate_limited', rateLimitedProblem(tooOften), live.sale.id, request)
    // A buyer whom the gate would not even give one unit can't win, whatever the body says: it is not read.
    const refused = live.seller.refusal({ buyer: claims.buyer, attempt: claims.attempt, quantity: 1 })
    if (refused !== undefined) return this.#toResponse(refused, live.sale.id)
    return bodyless(request) ? this.#take(request, live, claims, 1) : this.#readAndTake(request, live, claims)
  }

  async #readAndTake(request: Request, live: LiveItem, claims: TicketClaims): Promise<Response> {
    const body = await readBody(request, buyerCalls.takeOrder.body.schema).catch((error: unknown) => {
      this.#count('body_invalid', live.sale.id)
      throw error
    })
    const { quantity } = body
    const { quantityMax } = live.item
    if (Number.isInteger(quantity) && quantity >= 1 && quantity <= quantityMax) {
      const fault = body.contact && contactFault(body.contact, live.sale.contactFields ?? [])
      if (fault !== undefined) return this.#counted('body_invalid', contactInvalid(fault).toResponse(), live.sale.id)
      const refused = live.seller.refusal({ buyer: claims.buyer, attempt: claims.attempt, quantity })
      return refused === undefined
        ? this.#take(request, live, claims, quantity, parcelIn(body))
        : this.#toResponse(refused, live.sale.id)
    }
    const detail = `Between 1 and ${quantityMax} can be ordered at a time.`
    const refused = problem('quantity_invalid', { detail, more: { field: 'quantity', quantityMax } })
    return this.#counted('quantity_invalid', refused, live.sale.id)
  }

  #take(request: Request, live: LiveItem, claims: TicketClaims, quantity: number, parcel?: Parcel): Promise<Response> {
    const trace = this.#edge.clickTracer?.click(request)
    const taking = this.#takeUnder(trace, request, live, claims, quantity, parcel)
    return trace === undefined ? taking : tracedAnswer(trace, live.item.id, taking)
  }

  async #takeUnder(
    trace: ClickTrace | undefined,
    request: Request,
    live: LiveItem,
    claims: TicketClaims,
    quantity: number,
    parcel: Parcel | undefined,
  ): Promise<Response> {
    const { sell, budget, lists } = this.#edge
    const { buyer, attempt, marks } = claims
    const limits = budget.limitsOf(live.sale)
    if (limits === undefined || lists.ofTicket(claims) === 'allow')
      return this.#answer(await takeOrder(sell, live, { buyer, attempt, quantity, trace }), live.sale.id, parcel)
    const ask = { buyer, attempt, quantity, marks, network: this.#networkOf(request) }
    const held = await budget.take(live, limits, ask)
    if (held === undefined) return this.#refused('hold_limit', plainProblem('hold_limit'), live.sale.id, request)
    const outcome = await takeOrder(sell, live, { buyer, attempt, quantity, trace })
    budget.settle(live, held, outcome)
    return this.#answer(outcome, live.sale.id, parcel)
  }

  /** Undefined: its holds are not counted by network. */
  #networkOf(request: Request): string | undefined {
    const address = this.#edge.addressOf(request)
    return this.#edge.lists.ofAddress(address) === 'allow' ? undefined : networkOf(address)
  }

  /** Not in this process's gate: unknown, not warmed yet, or long over. A valid ticket still finds its order. */
  async #orderElsewhere(request: Request, saleId: string, itemId: string): Promise<Response> {
    // What is not known here may cost a read of the ledger.
    const limited = this.#edge.catalog.knows(saleId) ? undefined : admitCall(this.#edge, request)
    if (limited !== undefined) return this.#counted('rate_limited', limited, undefined)
    const sale = isId(saleId) && isId(itemId) ? await this.#edge.catalog.find(saleId) : undefined
    if (sale === undefined || !sale.items.some(item => item.id === itemId))
      return this.#counted('not_found', plainProblem('not_found'), undefined)
    const ticket = bearerOf(request) ?? ''
    const claims = this.#verify(request, ticket, 0, saleId, itemId)
    const repeated = claims && (await this.#repeat(request, undefined, sale, claims))
    return repeated ?? this.#toResponse(standingClosed(sale, this.#edge.sell.view.nowMs()), saleId)
  }

  /** Undefined: no ticket for this item, or one that is bound to another sign-in or network. */
  #verify(request: Request, ticket: string, at: number, sale: SaleId, item: ItemId): TicketClaims | undefined {
    const { tickets, ticketBinding } = this.#edge
    return tickets.verify(ticket, at, { sale, item }, ticketBinding?.shown(request))
  }

  /** The order that this ticket's buyer and attempt have already. */
  async #repeat(request: Request, live: LiveItem | undefined, ofSale: Sale, claims: TicketClaims) {
    const { sale, item, buyer, attempt } = claims
    const limited = this.#edge.callLimits.repeat(buyer)
    if (limited !== undefined) return this.#counted('rate_limited', rateLimitedProblem(limited), sale)
    // Read first: between a reservation that is told again and its answer nothing is awaited (E2).
    const parcel = mayCarryParcel(request) ? await readParcel(request, ofSale) : undefined
    const repeated = await repeatOrder(this.#edge.sell, live, item, buyer, attempt)
    return repeated && this.#answer(repeated, sale, parcel)
  }

  /** What came for the parcel is written beside the order. The answer to a reservation does not wait for that (E2). */
  #answer(outcome: TakeOrderOutcome, sale: SaleId, parcel: Parcel | undefined): Response | Promise<Response> {
    if (parcel === undefined) return this.#toResponse(outcome, sale)
    const placed = 'order' in outcome ? outcome.order : undefined
    const order = placed ?? ('reservation' in outcome ? outcome.reservation : undefined)
    if (order === undefined) return this.#toResponse(outcome, sale)
    const { id, item, buyer } = order
    const written = this.#edge.parcelDesk.keep({ order: id, item, buyer, ...parcel })
    if (placed !== undefined) return written.then(() => this.#toResponse(outcome, sale))
    void written
    return this.#toResponse(outcome, sale)
  }

  #toResponse(outcome: TakeOrderOutcome, sale: SaleId): Response {
    const kind = outcome.kind === 'same_reserved' ? 'same' : outcome.kind
    this.#count(kind, sale, orderOf(outcome))
    return answerTo(outcome)
  }

  /** Turned away by a rule: counted with the network it came from, too. */
  #refused(reason: AskOutcome & RefusalReason, answer: Response, sale: SaleId, request: Request): Response {
    this.#edge.refusals.count(reason, this.#edge.addressOf(request))
    return this.#counted(reason, answer, sale)
  }

  #counted(outcome: AskOutcome, answer: Response, sale: SaleId | undefined): Response {
    this.#count(outcome, sale)
    return answer
  }

  /** Once for the metrics, once for the funnel of its sale; undefined: there is no such sale. */
  #count(outcome: AskOutcome, sale: SaleId | undefined, order = ''): void {
    this.#edge.sell.meters.count('order_asks', outcome)
    this.#edge.flight?.note(outcome, sale ?? '', order)
    if (sale !== undefined) this.#edge.asks.count(sale, outcome)
  }
}

/** True when there is certainly no body, without touching the body itself. */
function bodyless(request: Request): boolean {
  const length = request.headers.get('content-length')
  return length === '0' || (length === null && !request.headers.has('transfer-encoding'))
}

/** Of a call that asks again for an order: shorter bodies have no room for a contact or metadata, and are not read. */
function mayCarryParcel(request: Request): boolean {
  const length = request.headers.get('content-length')
  return length === null ? request.headers.has('transfer-encoding') : Number(length) >= PARCEL_BYTES_MIN
}

/** Undefined: there is none, or it does not fit. Who has an order gets it, whatever the body says. */
async function readParcel(request: Request, { contactFields = [] }: Sale): Promise<Parcel | undefined> {
  try {
    const body = await readBody(request, buyerCalls.takeOrder.body.schema)
    return body.contact && contactFault(body.contact, contactFields) ? undefined : parcelIn(body)
  } catch (error) {
    if (error instanceof ProblemError) return undefined
    throw error
  }
}

function parcelIn({ metadata, contact }: Partial<Parcel>): Parcel | undefined {
  if (metadata === undefined && contact === undefined) return undefined
  const parcel = { metadata: filled(metadata), contact: filled(contact) }
  return parcel.metadata === undefined && parcel.contact === undefined ? undefined : parcel
}

function filled<T extends object>(value: T | undefined): T | undefined {
  return value !== undefined && Object.values(value).some(one => one !== undefined) ? value : undefined
}

function orderOf(outcome: TakeOrderOutcome): string {
  if ('order' in outcome) return outcome.order.id
  return 'reservation' in outcome ? outcome.reservation.id : ''
}

function answerTo(outcome: TakeOrderOutcome): Response {
  switch (outcome.kind) {
    case 'placed':
      return orderResponse(outcome.order, 201)
    case 'same':
      return orderResponse(outcome.order, 200)
    case 'reserved':
      return orderResponse(outcome.reservation, 202)
    case 'same_reserved':
      return orderResponse(outcome.reservation, 200)
    case 'sold_out':
    case 'attempts_used':
    case 'busy':
      return plainProblem(outcome.kind)
    case 'paused':
      return plainProblem('sale_paused')
    case 'over':
      return plainProblem('sale_over')
    case 'not_enough':
      return problem('not_enough', { detail: `${outcome.left} left.`, more: { left: outcome.left } })
    case 'early': {
      const opensAt = toRfc3339(outcome.opensAtMs)
      return problem('sale_not_open', { detail: `It opens at ${opensAt}.`, more: { opensAt } })
    }
    default:
      return unreachable(outcome)
  }
}

function orderResponse(order: Order | Reservation, status: number): Response {
  return new Response(JSON.stringify(wireOrder(order)), {
    status,
    headers: { 'content-type': 'application/json', location: `/api/orders/${order.id}`, ...UNRENDERED },
  })
}
