/** The demo's crowd, for the page that offers it. Where there is no demo, its state is `off` and starting it is not found. */

import type { DemoAnswer } from '../../wire/answers.ts'
import { buyerCalls } from '../../wire/calls/buyer-calls.ts'
import { type Exchange, json, type Route, route } from '../http/exchange.ts'
import { ProblemError } from '../http/problem-response.ts'

interface DemoRouteParts {
  readonly read: () => Promise<DemoAnswer>
  /** Starts the crowd; undefined where there is no demo sale. */
  readonly bring: () => Promise<DemoAnswer | undefined>
  readonly trusts: (request: Request) => boolean
}

const UNCACHED = { 'cache-control': 'no-store' }

export function demoRoutes(parts: DemoRouteParts): readonly Route[] {
  return [
    route(buyerCalls.demo, async () => json(await parts.read(), 200, UNCACHED)),
    route(buyerCalls.bringCrowd, bring),
  ]

  async function bring({ request }: Exchange): Promise<Response> {
    // This needs no sign-in, so a page of another site could send it unseen: only trusted pages may.
    const brought = parts.trusts(request) ? await parts.bring() : undefined
    if (brought === undefined) throw new ProblemError('not_found', 'There is no demo sale to bring a crowd to.')
    return json(brought, 202, UNCACHED)
  }
}
