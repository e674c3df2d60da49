/** What buyers call, apart from ordering and paying: time, sales, session, ticket, their own orders. */

import type { ChallengeAsked, ChallengeSubject, ChallengeVerdict } from '../../admission/challenges.ts'
import type { RiskSubject, RiskVerdict } from '../../admission/risk.ts'
import { endedSessionCookies, sessionCookies } from '../../admission/session.ts'
import { toRfc3339 } from '../../base/clock.ts'
import type { Counted } from '../../base/meters.ts'
import type { BuyerId } from '../../domain/ids.ts'
import { isListed, type Sale, type SaleChallenge } from '../../domain/sale.ts'
import { findOrder, ordersOfBuyer } from '../../flows/sell/find-orders.ts'
import { giveTicket } from '../../flows/sell/give-ticket.ts'
import { REFUSAL_REASONS, type RefusalReason } from '../../wire/abuse/refusal-reasons.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { wireOrder, wireSale } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import {
  bearerOf,
  type Exchange,
  idParam,
  jsonWithEtag,
  readBody,
  readPage,
  readQuery,
  signedOut,
  uncached,
  withCookies,
} from '../http/exchange.ts'
import {
  answerBy,
  bodyInvalid,
  noSuch,
  ProblemError,
  plainProblem,
  problem,
  RateLimitedError,
  rateLimitedProblem,
} from '../http/problem-response.ts'
import { claimEnd, hasLine } from './line-admission.ts'
import { wireOwn } from './parcel-routes.ts'

const SESSION_MS = 12 * 3600 * 1000

const CHALLENGE_DETAILS: Readonly<Record<Exclude<ChallengeVerdict, 'passed'>, string>> = {
  malformed:
    'The "challenge" of the body is not what a solver or a widget gives: {"challenge", "solution"}, or {"token"}.',
  forged: 'This server has not made that challenge.',
  expired: 'The challenge has expired, or was used before.',
  foreign: 'The challenge was made for another sale, item, buyer or attempt.',
  wrong: 'The solution does not solve the challenge.',
}

const handlers = {
  time({ stock }) {
    const unixMs = stock.nowMs()
    return uncached({ now: toRfc3339(unixMs), unixMs })
  },

  async sales({ catalog, stock }, { request }) {
    const list = await catalog.list()
    return jsonWithEtag(request, { sales: list.filter(isListed).map(one => wireSale(one, stock)) })
  },

  async sale({ catalog, stock }, exchange) {
    const found = await catalog.find(idParam(exchange, 'sale'))
    if (found === undefined) throw noSuch('sale')
    return jsonWithEtag(exchange.request, wireSale(found, stock))
  },

  /** With a shop's token: a cookie for the page. Without one: a guest, where guests are let in. */
  async signIn({ buyers, random, trusts, secureCookies: secure }, { request }) {
    demandTrusted(trusts, request)
    const cookies = (token: string) => sessionCookies(token, { secure, maxAgeS: SESSION_MS / 1000 })
    const token = bearerOf(request)
    if (token !== undefined) {
      if ((await buyers.verify(token)) === undefined) throw new ProblemError('unauthenticated')
      return withCookies(new Response(null, { status: 204 }), cookies(token))
    }
    if (buyers.issueGuest === undefined) throw new ProblemError('unauthenticated')
    const wish = await readBody(request, buyerCalls.signIn.body.schema)
    const name = wish.buyer ?? `guest-${Buffer.from(random.bytes(9)).toString('base64url')}`
    const guest = await buyers.issueGuest(name, SESSION_MS)
    if (guest === undefined) throw bodyInvalid('buyer', '"buyer" is too long for the name of a guest.')
    return withCookies(uncached(guest), cookies(guest.token))
  },

  /** Takes the cookie away. The token in it is good until its own end: the server keeps no list of tokens. */
  signOut({ trusts, secureCookies }, { request }) {
    demandTrusted(trusts, request)
    return signedOut(endedSessionCookies(secureCookies))
  },

  /** Counted by the code it is answered with: given, or why not. */
  async ticket(edge, exchange) {
    const count = (outcome: Counted['ticket_asks'][number]) => {
      edge.meters.count('ticket_asks', outcome)
      countRefusal(edge, exchange.request, outcome)
    }
    try {
      const [outcome, answer] = await giveOrRefuse(edge, exchange)
      count(outcome)
      return answer
    } catch (error) {
      if (
        error instanceof ProblemError &&
        (error.code === 'not_found' || error.code === 'unauthenticated' || error.code === 'rate_limited')
      )
        count(error.code)
      throw error
    }
  },

  async ownOrders({ identity, find, callLimits }, exchange) {
    const buyer = await identity.buyer(exchange.request)
    const limited = callLimits.list(buyer)
    if (limited !== undefined) throw new RateLimitedError(limited)
    const { after, limit } = readQuery(exchange, buyerCalls.ownOrders.query)
    const { shown, next } = await readPage(limit, max => ordersOfBuyer(find, buyer, after || undefined, max))
    return uncached({ orders: shown.map(wireOrder), next })
  },

  async ownOrder(edge, exchange) {
    const { identity, find, inquiries } = edge
    const id = idParam(exchange, 'id')
    const { payment } = readQuery(exchange, buyerCalls.ownOrder.query)
    const buyer = await identity.buyer(exchange.request)
    const found = await findOrder(find, id, buyer)
    const asks = payment === 'ask' && found.kind === 'found' && found.order.state === 'pending'
    if (asks) await inquiries.ask(id)
    return answerBy(asks ? await findOrder(find, id, buyer) : found, {
      found: async ({ order }) => uncached(await wireOwn(edge, order)),
      missing: () => new ProblemError('not_found', 'You have no such order.'),
      busy: () => plainProblem('busy'),
    })
  },
} satisfies Handlers<typeof buyerCalls>

export const buyerRoutes = (edge: EdgeContext) => routesOf(edge, buyerCalls, handlers)

/** A page of another site could make a visitor buy under the page owner's name, and read it all in the owner's orders. */
function demandTrusted(trusts: EdgeContext['trusts'], request: Request): void {
  if (!trusts(request))
    throw new ProblemError('forbidden', 'Only pages of this site, and of origins in CORS_ORIGINS, may sign in or out.')
}

/** Those that are decided about a buyer, whose token was verified. */
const KNOWS_BUYER: ReadonlySet<RefusalReason> = new Set(['denied', 'risk_denied', 'challenge_invalid', 'hold_limit'])

/** Counts an outcome that turns a request away by a rule, with the network and the claims behind it; any other is none. */
export function countRefusal(
  { refusals, addressOf, identity }: Pick<EdgeContext, 'refusals' | 'addressOf' | 'identity'>,
  request: Request,
  outcome: string,
): void {
  if (!isRefusal(outcome)) return
  // Only where the token was verified before: others could hold any claim.
  refusals.count(outcome, addressOf(request), KNOWS_BUYER.has(outcome) ? identity.claims(request) : undefined)
}

function isRefusal(outcome: string): outcome is RefusalReason {
  return (REFUSAL_REASONS as readonly string[]).includes(outcome)
}

/** What operators have decided about a buyer whose token was verified. */
export function accessOf({ lists, identity }: EdgeContext, request: Request, buyer: BuyerId) {
  const ofBuyer = lists.ofBuyer(buyer)
  if (ofBuyer === 'deny' || !lists.knowsClaims) return ofBuyer
  return lists.ofClaims(identity.claims(request)) ?? ofBuyer
}

/** Undefined: the shop is not asked. */
async function askShop({ risk, identity }: EdgeContext, request: Request, subject: Omit<RiskSubject, 'claims'>) {
  return risk?.ask({ ...subject, claims: identity.claims(request) })
}

/** The shop may make the sale's challenge harder, and not easier. Where the sale has none, there is none. */
function atLeastAsHard(challenge: SaleChallenge, risk: RiskVerdict | undefined): SaleChallenge {
  if (challenge === undefined || risk?.kind !== 'challenge') return challenge
  return Math.max(challenge === 'auto' ? 1 : challenge, risk.difficulty)
}

function challengeProblem(asked: ChallengeAsked): Response {
  if (asked.kind === 'challenge_invalid') return problem(asked.kind, { detail: CHALLENGE_DETAILS[asked.why] })
  if (asked.kind === 'busy') return plainProblem('busy')
  return problem(asked.kind, { more: { challengeKind: asked.challengeKind, challenge: asked.challenge } })
}

/**
 * What a buyer whom no operator has let in must pass: the judgement of the shop's own program, and the sale's challenge. Undefined: passed.
 * @param solvedFor what a solution is good for, where that is not the item
 */
export async function screen(
  edge: EdgeContext,
  request: Request,
  { challenge }: Pick<Sale, 'challenge'>,
  subject: ChallengeSubject,
  address: string,
  solved: unknown,
  solvedFor = subject.item,
): Promise<readonly ['risk_denied' | ChallengeAsked['kind'], Response] | undefined> {
  const risk = await askShop(edge, request, { ...subject, address })
  if (risk?.kind === 'deny') return ['risk_denied', plainProblem('denied')]
  if (risk?.kind === 'unknown') return ['busy', plainProblem('busy')]
  const challenged = { ...subject, item: solvedFor }
  const asked = await edge.challenges.before(atLeastAsHard(challenge, risk), challenged, address, solved)
  return asked && [asked.kind, challengeProblem(asked)]
}

async function giveOrRefuse(
  edge: EdgeContext,
  exchange: Exchange,
): Promise<readonly [Counted['ticket_asks'][number], Response]> {
  const sale = idParam(exchange, 'sale')
  const item = idParam(exchange, 'item')
  const found = await edge.catalog.find(sale)
  if (found === undefined || !found.items.some(one => one.id === item)) throw noSuch('sale or item')
  const address = edge.addressOf(exchange.request)
  const isWelcome = edge.lists.ofAddress(address) === 'allow'
  const limited = isWelcome ? undefined : await edge.ticketLimits.admitAddress(address)
  if (limited !== undefined) return ['rate_limited', rateLimitedProblem(limited)]
  const buyer = await edge.identity.buyer(exchange.request)
  const access = accessOf(edge, exchange.request, buyer)
  const tooOften = access === 'allow' ? undefined : await edge.ticketLimits.admitBuyer(buyer, item)
  if (tooOften !== undefined) return ['rate_limited', rateLimitedProblem(tooOften)]
  const { challenge: solved } = await readBody(exchange.request, buyerCalls.ticket.body.schema)
  const outcome = await giveTicket(edge.sell, found, edge.registry.get(item), buyer, edge.stock.nowMs())
  let ticketEndsMs = Number.POSITIVE_INFINITY
  if (outcome.kind === 'given' && !outcome.holds) {
    if (access === 'deny') return ['denied', plainProblem('denied')]
    if (hasLine(found)) {
      const end = await claimEnd(edge, found, buyer)
      if (typeof end !== 'number') return end
      ticketEndsMs = end
    }
    // Who waits in line has passed this before joining.
    const subject = { sale, item, buyer, attempt: outcome.terms.attempt }
    const isTrusted = isWelcome || access === 'allow' || hasLine(found)
    const refused = isTrusted ? undefined : await screen(edge, exchange.request, found, subject, address, solved)
    if (refused !== undefined) return refused
  }
  const answer = await answerBy(outcome, {
    given({ terms: { attempt, notBeforeMs, ...terms } }) {
      const expiresAtMs = Math.min(terms.expiresAtMs, ticketEndsMs)
      const watched = [...edge.abuseClaims, ...edge.lists.claims]
      const marks = edge.budget.marksOf(found, () => edge.identity.claims(exchange.request), watched)
      const claims = { sale, item, buyer, attempt, notBeforeMs, expiresAtMs, marks }
      const ticket = edge.tickets.issue(claims, edge.ticketBinding?.given(exchange.request))
      const [notBefore, expiresAt] = [toRfc3339(notBeforeMs), toRfc3339(expiresAtMs)]
      return uncached({ ticket, attempt, notBefore, expiresAt }, 201)
    },
    attempts_used: () => plainProblem('attempts_used'),
    hold_limit: () => plainProblem('hold_limit'),
    early({ opensAtMs }) {
      const opensAt = toRfc3339(opensAtMs)
      const detail = `Tickets are given out shortly before the opening at ${opensAt}.`
      return problem('sale_not_open', { detail, more: { opensAt } })
    },
    over: () => plainProblem('sale_over'),
    busy: () => plainProblem('busy'),
  })
  return [outcome.kind, answer]
}
