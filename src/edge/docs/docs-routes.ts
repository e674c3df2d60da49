/** `/openapi.json`, `/docs` and `/docs/errors`: the calls that this server really has, described. Made once, at the start. */

import type { Call } from '../../wire/call.ts'
import { ALL_CALLS } from '../../wire/calls/all-calls.ts'
import { operationsCalls } from '../../wire/calls/operations-calls.ts'
import { jsonWithEtag, type Route, route, withEtag } from '../http/exchange.ts'
import { pageHeaders } from '../http/security-headers.ts'
import { docsPage, errorsPage, STYLE } from './docs-page.ts'
import { describeCalls } from './openapi.ts'

/** `others` are all other routes of this server; `sells`: it also has the calls that are no routes, orders and the live connection. */
export function docsRoutes(others: readonly Route[], sells: boolean): readonly Route[] {
  const document = describeCalls(callsOf(others, sells))
  const api = docsPage(document)
  const errors = errorsPage()
  const headers = pageHeaders(STYLE)
  return [
    route(operationsCalls.openapi, ({ request }) => jsonWithEtag(request, document)),
    route(operationsCalls.docs, ({ request }) => withEtag(request, api, headers)),
    route(operationsCalls.docsErrors, ({ request }) => withEtag(request, errors, headers)),
  ]
}

/** Routes of the API without a description are listed as such, so that the gap is seen. */
function callsOf(routes: readonly Route[], sells: boolean): readonly Call[] {
  const named = ({ method, path }: Pick<Call, 'method' | 'path'>) => `${method} ${path}`
  const there = new Set(
    [...routes, operationsCalls.openapi, operationsCalls.docs, operationsCalls.docsErrors].map(named),
  )
  const known = new Set(ALL_CALLS.map(named))
  const unknown = routes.filter(one => one.path.startsWith('/api/') && !known.has(named(one)))
  return [
    ...ALL_CALLS.filter(call => (call.apart === true ? sells : there.has(named(call)))),
    ...unknown.map(
      ({ method, path }): Call => ({
        method,
        path,
        group: 'Operations',
        summary: 'Not described',
        who: 'anyone',
        answers: {},
        problems: [],
      }),
    ),
  ]
}
