/**
 * `/openapi.json`, `/docs` and `/docs/errors`: the calls that this server really has, described. Made once: at the start where buyers come, because
 * it takes a tenth of a second of their core; otherwise at the first request.
 */

import { assert } from '../../base/assert.ts'
import type { Call } from '../../wire/call.ts'
import { ALL_CALLS } from '../../wire/calls/all-calls.ts'
import { operationsCalls } from '../../wire/calls/operations-calls.ts'
import { jsonWithEtag, type Route, route, withEtag } from '../http/exchange.ts'
import { docsPage, errorsPage, PAGE_HEADERS } from './docs-page.ts'
import { describeCalls } from './openapi.ts'

interface DocsOptions {
  /** This server also has the calls that are no routes: orders and the live connection. */
  readonly sells: boolean
  readonly atStart: boolean
}

/** `others` are all other routes of this server. */
export function docsRoutes(others: readonly Route[], { sells, atStart }: DocsOptions): readonly Route[] {
  const { openapi, docs, docsErrors } = operationsCalls
  const named = ({ method, path }: Pick<Call, 'method' | 'path'>) => `${method} ${path}`
  const there = new Set([...others, openapi, docs, docsErrors].map(named))
  const known = new Set(ALL_CALLS.map(named))
  for (const one of others)
    assert(known.has(named(one)) || !one.path.startsWith('/api/'), `${named(one)} is described nowhere`)
  const describe = () => {
    const document = describeCalls(ALL_CALLS.filter(call => (call.apart === true ? sells : there.has(named(call)))))
    return { document, api: docsPage(document), errors: errorsPage() }
  }
  let described = atStart ? describe() : undefined
  const made = () => {
    described ??= describe()
    return described
  }
  const headers = PAGE_HEADERS
  return [
    route(openapi, ({ request }) => jsonWithEtag(request, made().document)),
    route(docs, ({ request }) => withEtag(request, made().api, headers)),
    route(docsErrors, ({ request }) => withEtag(request, made().errors, headers)),
  ]
}
