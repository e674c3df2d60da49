/** The waiting line: buyers join it, ask where they are, leave; operators steer it. */

import { toRfc3339 } from '../../base/clock.ts'
import { toHex } from '../../domain/draw/draw-bytes.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { LineRate } from '../../domain/line.ts'
import type { FollowedLine, SaleWithLine } from '../../flows/line/followed-lines.ts'
import { findInLine, joinLine, leaveLine } from '../../flows/line/join-line.ts'
import { type JoinFacts, shownJoin } from '../../flows/line/join-state.ts'
import { lineCalls } from '../../wire/line/line-calls.ts'
import type { JoinAnswer } from '../../wire/line/line-shapes.ts'
import { wireOperatorSale } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { type Exchange, idParam, json, readBody, uncached } from '../http/exchange.ts'
import { answerBy, noSuch, ProblemError, plainProblem, problem, rateLimitedProblem } from '../http/problem-response.ts'
import { accessOf, countRefusal, screen } from './buyer-routes.ts'
import { hasLine } from './line-admission.ts'

const handlers = {
  /** What turns a buyer away is counted by its code, as before a ticket. */
  async joinLine(edge, exchange) {
    try {
      const [outcome, answer] = await joinOrRefuse(edge, exchange)
      countRefusal(edge, exchange.request, outcome)
      return answer
    } catch (error) {
      if (error instanceof ProblemError) countRefusal(edge, exchange.request, error.code)
      throw error
    }
  },

  async ownJoin(edge, exchange) {
    const sale = await findSale(edge, exchange)
    const buyer = await edge.identity.buyer(exchange.request)
    return answerBy(await findInLine(edge.line, sale, buyer), {
      found: ({ line, facts }) => uncached(wireJoin(edge, line, buyer, facts)),
      not_in_line: () => plainProblem('not_in_line'),
      busy: () => plainProblem('busy'),
    })
  },

  async leaveLine(edge, exchange) {
    const sale = await findSale(edge, exchange)
    const buyer = await edge.identity.buyer(exchange.request)
    if ((await leaveLine(edge.line, sale, buyer)) === 'busy') throw new ProblemError('busy')
    return new Response(null, { status: 204 })
  },

  async rateLine(edge, exchange, by) {
    const { rate } = await readBody(exchange.request, lineCalls.rateLine.body.schema)
    return steer(edge, exchange, { rate }, by, 'line.rate')
  },

  pauseLine: (edge, exchange, by) => steer(edge, exchange, { paused: true }, by, 'line.pause'),
  resumeLine: (edge, exchange, by) => steer(edge, exchange, { paused: false }, by, 'line.resume'),
} satisfies Handlers<typeof lineCalls>

export const lineRoutes = (edge: EdgeContext) => routesOf(edge, lineCalls, handlers)

type Refused = readonly [outcome: string, answer: Response]

async function joinOrRefuse(edge: EdgeContext, exchange: Exchange): Promise<Refused> {
  const sale = await findSale(edge, exchange)
  const address = edge.addressOf(exchange.request)
  const isWelcome = edge.lists.ofAddress(address) === 'allow'
  const limited = isWelcome ? undefined : await edge.ticketLimits.admitAddress(address)
  if (limited !== undefined) return ['rate_limited', rateLimitedProblem(limited)]
  const buyer = await edge.identity.buyer(exchange.request)
  const access = accessOf(edge, exchange.request, buyer)
  const tooOften = access === 'allow' ? undefined : await edge.ticketLimits.admitBuyer(buyer, sale.id)
  if (tooOften !== undefined) return ['rate_limited', rateLimitedProblem(tooOften)]
  const { challenge: solved } = await readBody(exchange.request, lineCalls.joinLine.body.schema)

  async function mayJoin(instead: number): Promise<Refused | undefined> {
    if (access === 'deny') return ['denied', plainProblem('denied')]
    if (!isWelcome && access !== 'allow') {
      // No item has the id of a sale: what is solved for the line is for nothing else, and for this join alone.
      const subject = { sale: sale.id, item: sale.id, buyer, attempt: 1 }
      const solvedFor = instead === 0 ? sale.id : `${sale.id}-${instead}`
      const screened = await screen(edge, exchange.request, sale, subject, address, solved, solvedFor)
      if (screened !== undefined) return screened
    }
    return claimProblem(edge, exchange.request, sale, buyer)
  }

  const outcome = await joinLine(edge.line, sale, buyer, mayJoin)
  if (outcome.kind === 'refused') return outcome.why
  const answer = await answerBy(outcome, {
    joined: ({ line, facts }) => uncached(wireJoin(edge, line, buyer, facts), 201),
    same: ({ line, facts }) => uncached(wireJoin(edge, line, buyer, facts)),
    early({ opensAtMs }) {
      const opensAt = toRfc3339(opensAtMs)
      return problem('sale_not_open', { detail: `The line opens at ${opensAt}.`, more: { opensAt } })
    },
    over: () => plainProblem('sale_over'),
    busy: () => plainProblem('busy'),
  })
  return [outcome.kind, answer]
}

/** The answer to a buyer whom the line does not take; undefined: it takes him. */
async function claimProblem(
  { line, joinOnce, identity }: EdgeContext,
  request: Request,
  sale: SaleWithLine,
  buyer: BuyerId,
): Promise<Refused | undefined> {
  const { claim } = sale.line
  if (claim === undefined) return undefined
  const claims = identity.claims(request)
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined
  const joined = await joinOnce(await line.followedLines.of(sale), buyer, value)
  if (joined === 'ok') return undefined
  const code = joined === 'used' ? 'claim_used' : 'claim_required'
  return [code, problem(code, { more: { claim } })]
}

async function findSale({ catalog }: EdgeContext, exchange: Exchange): Promise<SaleWithLine> {
  const sale = await catalog.find(idParam(exchange, 'sale'))
  if (sale === undefined || !hasLine(sale)) throw noSuch('sale with a waiting line')
  return sale
}

async function steer(
  { line: { followedLines }, lines, operate, stock }: EdgeContext,
  exchange: Exchange,
  change: { readonly rate?: LineRate; readonly paused?: boolean },
  by: string,
  action: string,
): Promise<Response> {
  const sale = await operate.sales.find(idParam(exchange, 'sale'))
  if (sale === undefined || !hasLine(sale) || sale.state === 'draft') throw noSuch('sale with a waiting line')
  await followedLines.of(sale)
  if (!(await lines.steer(sale.id, change, by, action))) throw noSuch('sale with a waiting line')
  await followedLines.round()
  return json(wireOperatorSale(sale, stock))
}

function wireJoin(edge: EdgeContext, line: FollowedLine, buyer: BuyerId, facts: JoinFacts): JoinAnswer {
  const { number, state, position, ahead, claimByMs, estimate, left, pollAfterSeconds, salt, proof, head } = shownJoin(
    edge.line,
    line,
    buyer,
    facts,
  )
  return {
    number,
    state,
    place: position ?? null,
    ahead: ahead ?? null,
    estimate: estimate ?? null,
    pollAfterSeconds,
    ...(claimByMs !== undefined && { claimBy: toRfc3339(claimByMs) }),
    left: left ?? null,
    proof: toHex(proof),
    salt: toHex(salt),
    head: toHex(head),
  }
}
