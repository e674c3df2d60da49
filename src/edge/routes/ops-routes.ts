/**
 * The operations page's side of the server: its addresses, signing in and out, and the two calls made for the page. Everything else the
 * page does goes through the operators' ordinary calls, under the session that is opened here.
 */

import type { Operator } from '../../admission/operator.ts'
import { toRfc3339 } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import type { StockView } from '../../flows/sell/live-item.ts'
import type { TroubleAnswer, WatchAnswer } from '../../wire/answers.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { signInInput } from '../../wire/inputs.ts'
import { wireAudit, wireOperatorSale } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import {
  type Exchange,
  idParam,
  json,
  type Route,
  readBody,
  readQuery,
  route,
  signedOut,
  uncached,
  withCookies,
} from '../http/exchange.ts'
import { noSuch, ProblemError } from '../http/problem-response.ts'
import { accepted } from '../identity.ts'
import type { Watch } from '../ops/monitor.ts'
import type { Trouble } from '../ops/trouble-board.ts'
import { sendPage } from './page-routes.ts'

/** The ledger may be away when an operator signs in to see why: longer than this the sign-in does not wait for its line in the log. */
const LINE_MS_MAX = 2_000
const ADDRESSES = [
  '/ops',
  '/ops/new',
  '/ops/log',
  '/ops/dead',
  '/ops/payments',
  '/ops/lists',
  '/ops/abuse',
  '/ops/alerts',
  '/ops/webhooks',
  '/ops/webhooks/{webhook}',
  '/ops/sales/{sale}/holds',
  '/ops/orders/{order}',
  '/ops/sales/{sale}',
  '/ops/sales/{sale}/edit',
  '/ops/sales/{sale}/orders',
  '/ops/sales/{sale}/result',
]

const handlers = {
  async watch({ monitor, stock }, exchange) {
    const { after = 0 } = readQuery(exchange, operatorCalls.watch.query)
    const seen = await monitor.watch(idParam(exchange, 'sale'), after)
    if (seen === undefined) throw noSuch('sale')
    return json(wireWatch(stock, seen))
  },
  trouble: ({ monitor }) => json({ trouble: monitor.trouble().map(wireTrouble) }),
} satisfies Handlers<typeof operatorCalls>

export function opsRoutes(edge: EdgeContext): readonly Route[] {
  const { sessions, guard, addressOf, pages, journal, clock, log } = edge
  const inTime = createSharedTimeout({ clock, ms: LINE_MS_MAX })
  return [
    ...ADDRESSES.map(path =>
      route({ method: 'GET', path }, async ({ request }) => sendPage(request, (await pages()).ops)),
    ),
    route({ method: 'GET', path: '/ops/sales/{sale}/preview' }, async ({ request }) =>
      sendPage(request, (await pages()).preview),
    ),
    { method: 'GET', path: '/ops/session', handle: showSession },
    { method: 'POST', path: '/ops/session', handle: signIn },
    { method: 'DELETE', path: '/ops/session', handle: signOut },
    ...routesOf(edge, operatorCalls, handlers),
  ]

  /** Without a session the answer is null, not an error. */
  function showSession({ request }: Exchange): Response {
    return uncached(sessionOf(sessions.operatorOf(request)))
  }

  async function signIn({ request }: Exchange): Promise<Response> {
    sessions.demandPage(request)
    const token = (await readBody(request, signInInput)).token.trim()
    const address = addressOf(request)
    const operator = accepted(guard.check(token, address))
    if (operator === undefined) throw new ProblemError('unauthenticated', 'This is not an operator token.')
    await recordSignIn(operator, address)
    return withCookies(uncached(sessionOf(operator)), sessions.open(token))
  }

  async function recordSignIn({ name, role }: Operator, address: string): Promise<void> {
    const line = { by: name, action: 'operator.sign_in', details: { role, address } }
    try {
      if (await inTime(journal.write(line).then(() => true))) return
      log.warn(
        { event: 'sign_in_unwritten', operator: name, address },
        'sign-in not written to the log: the ledger does not answer',
      )
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.warn({ event: 'sign_in_unwritten', operator: name, address, err: error }, 'sign-in not written to the log')
    }
  }

  function signOut({ request }: Exchange): Response {
    sessions.demandPage(request)
    return signedOut(sessions.close(request))
  }
}

function sessionOf(operator: Operator | undefined) {
  return { operator: operator?.name ?? null, role: operator?.role ?? null }
}

function wireTrouble({ sinceMs, ...found }: Trouble): TroubleAnswer {
  return { ...found, since: toRfc3339(sinceMs) }
}

function wireAt<Kept extends { readonly atMs: number }>({ atMs, ...kept }: Kept) {
  return { at: toRfc3339(atMs), ...kept }
}

function wireWatch(stock: StockView, { sale, audit, items, reconciled, ...seen }: Watch): WatchAnswer {
  const { sinceMs, ...funnel } = seen.funnel
  return {
    at: toRfc3339(Math.floor(stock.nowMs() - seen.ageMs)),
    sale: wireOperatorSale(sale, stock),
    audit: audit?.map(wireAudit) ?? null,
    items,
    funnel: { since: toRfc3339(sinceMs), ...funnel },
    recent: seen.recent.map(({ queued, ...sample }) => ({ ...wireAt(sample), line: queued })),
    reconciled: reconciled === undefined ? null : wireAt(reconciled),
    trouble: seen.trouble.map(wireTrouble),
  }
}
