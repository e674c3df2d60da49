/** `/openapi.json`, `/docs` and `/docs/errors`: the calls that this server really has, described. Made once, at the start. */

import { assert } from '../../base/assert.ts'
import type { Call } from '../../wire/call.ts'
import { ALL_CALLS } from '../../wire/calls/all-calls.ts'
import { operationsCalls } from '../../wire/calls/operations-calls.ts'
import { jsonWithEtag, type Route, route, withEtag } from '../http/exchange.ts'
import { docsPage, errorsPage, PAGE_HEADERS } from './docs-page.ts'
import { describeCalls } from './openapi.ts'

/** `others` are all other routes of this server; `sells`: it also has the calls that are no routes, orders and the live connection. */
export function docsRoutes(others: readonly Route[], sells: boolean): readonly Route[] {
  const { openapi, docs, docsErrors } = operationsCalls
  const named = ({ method, path }: Pick<Call, 'method' | 'path'>) => `${method} ${path}`
  const there = new Set([...others, openapi, docs, docsErrors].map(named))
  const known = new Set(ALL_CALLS.map(named))
  for (const one of others)
    assert(known.has(named(one)) || !one.path.startsWith('/api/'), `${named(one)} is described nowhere`)
  const document = describeCalls(ALL_CALLS.filter(call => (call.apart === true ? sells : there.has(named(call)))))
  const api = docsPage(document)
  const errors = errorsPage()
  const headers = PAGE_HEADERS
  return [
    route(openapi, ({ request }) => jsonWithEtag(request, document)),
    route(docs, ({ request }) => withEtag(request, api, headers)),
    route(docsErrors, ({ request }) => withEtag(request, errors, headers)),
  ]
}
