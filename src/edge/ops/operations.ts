/**
 * The operations page's side of the server: its addresses, signing in and out, the monitor, and the two calls made for the page.
 * Everything else the page does goes through the operators' ordinary calls, under the session that is opened here.
 */

import type { Operators } from '../../admission/operator.ts'
import { createRateLimits } from '../../admission/rate-limits.ts'
import { toRfc3339 } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { TroubleAnswer, WatchAnswer } from '../../wire/answers.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { signInInput } from '../../wire/inputs.ts'
import { wireAudit, wireOperatorSale } from '../answers.ts'
import { bearerOf, type Exchange, idParam, json, type Route, readBody, readQuery } from '../http/exchange.ts'
import { noSuch, ProblemError, rateLimitedProblem } from '../http/problem-response.ts'
import { type Identity, routesForOperators } from '../identity.ts'
import type { PageFile } from '../pages.ts'
import { sendPage } from '../routes/page-routes.ts'
import { Monitor, type MonitorParts, type Watch } from './monitor.ts'
import { OperatorSessions } from './operator-sessions.ts'
import type { Trouble } from './trouble-board.ts'

interface OperationsParts extends MonitorParts {
  readonly operators: Operators
  /** Signs sessions: the same at every edge. */
  readonly sessionSecret: string
  readonly random: Random
  readonly secureCookies: boolean
  readonly trusts: (request: Request) => boolean
}

interface OpsRouteParts {
  readonly page: PageFile
  readonly identity: Identity
  readonly addressOf: (request: Request) => string
}

/** Sign-ins per address: enough for a person who mistypes, far too few to guess a token. */
const SIGN_INS = {
  perAddress: { count: 10, windowMs: 60_000 },
  perBuyer: undefined,
  perItem: undefined,
  total: undefined,
}
const UNCACHED = { 'cache-control': 'no-store' }
const ADDRESSES = [
  '/ops',
  '/ops/new',
  '/ops/log',
  '/ops/orders/{order}',
  '/ops/sales/{sale}',
  '/ops/sales/{sale}/edit',
  '/ops/sales/{sale}/orders',
]

export function createOperations(parts: OperationsParts) {
  const { clock, random, operators, trusts } = parts
  const monitor = new Monitor(parts)
  const secret = parts.sessionSecret
  const sessions = new OperatorSessions({ secret, operators, clock, random, trusts, secure: parts.secureCookies })
  const limits = createRateLimits({ ...SIGN_INS, clock, random })

  return { monitor, identify, routes }

  /** The same identity, which also knows operators by their session. A token counts before a cookie, even a wrong one. */
  function identify(identity: Identity): Identity {
    return {
      buyer: request => identity.buyer(request),
      operator(request) {
        const operator = bearerOf(request) === undefined ? sessions.operatorOf(request) : undefined
        return operator ?? identity.operator(request)
      },
    }
  }

  function routes({ page, identity, addressOf }: OpsRouteParts): readonly Route[] {
    const route = routesForOperators(identity)
    return [
      ...ADDRESSES.map(
        path => ({ method: 'GET', path, handle: ({ request }) => sendPage(request, page) }) satisfies Route,
      ),
      { method: 'GET', path: '/ops/session', handle: showSession },
      { method: 'POST', path: '/ops/session', handle: ({ request }) => signIn(request, addressOf(request)) },
      { method: 'DELETE', path: '/ops/session', handle: signOut },
      route(operatorCalls.watch, watch),
      route(operatorCalls.trouble, () => json({ trouble: monitor.trouble().map(wireTrouble) }, 200, UNCACHED)),
    ]
  }

  /** Without a session the answer is null, not an error. */
  function showSession({ request }: Exchange): Response {
    return json({ operator: sessions.operatorOf(request) ?? null }, 200, UNCACHED)
  }

  async function signIn(request: Request, address: string): Promise<Response> {
    sessions.demandPage(request)
    const refused = await limits.admitAddress(address)
    if (refused !== undefined) return rateLimitedProblem(refused)
    const token = (await readBody(request, signInInput)).token.trim()
    const operator = operators.verify(token)
    if (operator === undefined) throw new ProblemError('unauthenticated', 'This is not an operator token.')
    return json({ operator }, 200, { ...UNCACHED, 'set-cookie': sessions.open(token) })
  }

  function signOut({ request }: Exchange): Response {
    sessions.demandPage(request)
    return new Response(null, { status: 204, headers: { ...UNCACHED, 'set-cookie': sessions.close(request) } })
  }

  async function watch(exchange: Exchange): Promise<Response> {
    const { after = 0 } = readQuery(exchange, operatorCalls.watch.query)
    const seen = await monitor.watch(idParam(exchange, 'sale'), after)
    if (seen === undefined) throw noSuch('sale')
    return json(wireWatch(parts, seen), 200, UNCACHED)
  }
}

function wireTrouble({ sinceMs, ...found }: Trouble): TroubleAnswer {
  return { ...found, since: toRfc3339(sinceMs) }
}

function wireWatch({ stock }: Pick<MonitorParts, 'stock'>, { sale, audit, items, ...seen }: Watch): WatchAnswer {
  const { sinceMs, ...funnel } = seen.funnel
  const { reconciled } = seen
  return {
    at: toRfc3339(Math.floor(stock.nowMs() - seen.ageMs)),
    sale: wireOperatorSale(sale, stock.nowMs(), item => stock.leftOf(item)),
    audit: audit?.map(wireAudit) ?? null,
    items,
    funnel: { since: toRfc3339(sinceMs), ...funnel },
    recent: seen.recent.map(({ atMs, requestsPerSecond, p50Ms, p99Ms, queued }) => ({
      at: toRfc3339(atMs),
      p50Ms: p50Ms ?? null,
      p99Ms: p99Ms ?? null,
      requestsPerSecond,
      line: queued,
    })),
    reconciled:
      reconciled === undefined
        ? null
        : { at: toRfc3339(reconciled.atMs), differences: reconciled.differences, repairs: reconciled.repairs },
    trouble: seen.trouble.map(wireTrouble),
  }
}
