/** The demo's crowd, for the page that offers it. Where there is no demo, looking says so and letting it loose is not found. */

import type { DemoAnswer } from '../../wire/answers.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { type Exchange, json, type Route, route } from '../http/exchange.ts'
import { ProblemError } from '../http/problem-response.ts'

interface DemoRouteParts {
  readonly look: () => Promise<DemoAnswer>
  /** Undefined where there is nothing to let it loose on. */
  readonly bring: () => Promise<DemoAnswer | undefined>
  readonly trusts: (request: Request) => boolean
}

const UNCACHED = { 'cache-control': 'no-store' }

export function demoRoutes(parts: DemoRouteParts): readonly Route[] {
  return [
    route(buyerCalls.demo, async () => json(await parts.look(), 200, UNCACHED)),
    route(buyerCalls.bringCrowd, bring),
  ]

  async function bring({ request }: Exchange): Promise<Response> {
    // Nobody has to sign in for this, so a page of any other site could press the button unseen.
    const brought = parts.trusts(request) ? await parts.bring() : undefined
    if (brought === undefined) throw new ProblemError('not_found', 'There is no demo sale to bring a crowd to.')
    return json(brought, 202, UNCACHED)
  }
}
