/**
 * The operations page: its addresses, signing in and out, and the two calls made for it. Everything else it does goes through the
 * operators' ordinary calls, under the session that is opened here.
 */

import type { Operators } from '../../admission/operator.ts'
import type { RateLimits } from '../../admission/rate-limits.ts'
import { toRfc3339 } from '../../base/clock.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { TroubleAnswer, WatchAnswer } from '../../wire/answers.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { signInInput } from '../../wire/inputs.ts'
import { wireAudit, wireOperatorSale } from '../answers.ts'
import { type Exchange, idParam, json, type Route, readBody, readQuery, route } from '../http/exchange.ts'
import { ProblemError, rateLimitedProblem } from '../http/problem-response.ts'
import type { Identity } from '../identity.ts'
import type { Monitor, Watch } from '../ops/monitor.ts'
import type { OperatorSessions } from '../ops/operator-sessions.ts'
import type { Trouble } from '../ops/trouble-board.ts'
import type { PageFile } from '../pages.ts'
import { sendPage } from './page-routes.ts'

interface OpsParts {
  readonly page: PageFile
  readonly identity: Identity
  readonly operators: Operators
  readonly sessions: OperatorSessions
  readonly monitor: Monitor
  readonly near: LocalView
  /** Sign-ins per address: a token is not to be found by trying. */
  readonly limits: Pick<RateLimits, 'admitAddress'>
  readonly addressOf: (request: Request) => string
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

export function opsRoutes(parts: OpsParts): readonly Route[] {
  const { identity, sessions, monitor } = parts
  const page = ({ request }: Exchange) => sendPage(request, parts.page)
  return [
    ...ADDRESSES.map(path => ({ method: 'GET', path, handle: page }) as const),
    { method: 'GET', path: '/ops/session', handle: who },
    { method: 'POST', path: '/ops/session', handle: signIn },
    { method: 'DELETE', path: '/ops/session', handle: signOut },
    route(operatorCalls.watch, watch),
    route(operatorCalls.trouble, trouble),
  ]

  /** Nobody is an answer too. */
  function who({ request }: Exchange): Response {
    return json({ operator: sessions.operatorOf(request) ?? null }, 200, UNCACHED)
  }

  async function signIn({ request }: Exchange): Promise<Response> {
    sessions.demandPage(request)
    const refused = await parts.limits.admitAddress(parts.addressOf(request))
    if (refused !== undefined) return rateLimitedProblem(refused)
    const { token } = await readBody(request, signInInput)
    const given = token.trim()
    const operator = parts.operators.verify(given)
    if (operator === undefined) throw new ProblemError('unauthenticated', 'This is not an operator token.')
    return json({ operator }, 200, { ...UNCACHED, 'set-cookie': sessions.open(given) })
  }

  function signOut({ request }: Exchange): Response {
    sessions.demandPage(request)
    return new Response(null, { status: 204, headers: { ...UNCACHED, 'set-cookie': sessions.close(request) } })
  }

  async function watch(exchange: Exchange): Promise<Response> {
    identity.operator(exchange.request)
    const { after = 0 } = readQuery(exchange, operatorCalls.watch.query)
    const seen = await monitor.watch(idParam(exchange, 'sale'), after)
    if (seen === undefined) throw new ProblemError('not_found', 'There is no such sale.')
    return json(wireWatch(parts.near, seen), 200, UNCACHED)
  }

  function trouble({ request }: Exchange): Response {
    identity.operator(request)
    return json({ trouble: monitor.trouble().map(wireTrouble) }, 200, UNCACHED)
  }
}

function wireTrouble({ sinceMs, ...found }: Trouble): TroubleAnswer {
  return { ...found, since: toRfc3339(sinceMs) }
}

function wireWatch(near: LocalView, { sale, audit, standings, ...seen }: Watch): WatchAnswer {
  const { sinceMs, ...funnel } = seen.funnel
  const { reconciled } = seen
  return {
    at: toRfc3339(Math.floor(near.nowMs() - seen.ageMs)),
    sale: wireOperatorSale(sale, near.nowMs(), item => near.statusNow(item)?.left),
    audit: audit?.map(wireAudit) ?? null,
    items: standings,
    funnel: { since: toRfc3339(sinceMs), ...funnel },
    recent: seen.recent.map(({ atMs, p50Ms, p99Ms, ...sample }) => ({
      at: toRfc3339(atMs),
      p50Ms: p50Ms ?? null,
      p99Ms: p99Ms ?? null,
      ...sample,
    })),
    reconciled:
      reconciled === undefined
        ? null
        : { at: toRfc3339(reconciled.atMs), differences: reconciled.differences, repairs: reconciled.repairs },
    trouble: seen.trouble.map(wireTrouble),
  }
}
