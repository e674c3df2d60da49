/** What is called by whoever runs the server or reads about it; and the sandbox's pay page. */

import { z } from 'zod'
import { liveAnswer, readyAnswer, sandboxAnswer, sandboxHiddenAnswer } from '../answers.ts'
import type { Call } from '../call.ts'

const operations = { group: 'Operations', who: 'anyone', method: 'GET', problems: [] } as const

export const LIVEZ = {
  ...operations,
  path: '/livez',
  summary: 'Is the process alive?',
  answers: { 200: { what: 'It is.', body: liveAnswer, example: { status: 'alive' } } },
} satisfies Call

export const READYZ = {
  ...operations,
  path: '/readyz',
  summary: 'May it take traffic?',
  answers: {
    200: { what: 'It may.', body: readyAnswer, example: { status: 'ready', missing: [] } },
    503: {
      what: 'Traffic should go elsewhere, and why.',
      body: readyAnswer,
      example: { status: 'unready', missing: ['stopping'] },
    },
  },
} satisfies Call

const METRICS = {
  ...operations,
  who: 'operator',
  path: '/metrics',
  summary: 'Prometheus metrics',
  more: 'Open, without a token, on a port of its own when METRICS_PORT is set.',
  answers: { 200: { what: 'The metrics.', texts: ['text/plain', 'application/openmetrics-text'] } },
} satisfies Call

export const OPENAPI = {
  ...operations,
  path: '/openapi.json',
  summary: 'This description',
  takes: ['If-None-Match'],
  answers: {
    200: { what: 'OpenAPI 3.1.', body: z.looseObject({ openapi: z.string() }), headers: ['etag'] },
    304: { what: 'As you know it.', headers: ['etag'] },
  },
} satisfies Call

export const DOCS = {
  ...operations,
  path: '/docs',
  summary: 'This description, for people',
  answers: { 200: { what: 'A page.', texts: ['text/html'] } },
} satisfies Call

export const DOCS_ERRORS = {
  ...operations,
  path: '/docs/errors',
  summary: 'Every problem code: what it means, what to do',
  answers: { 200: { what: 'A page.', texts: ['text/html'] } },
} satisfies Call

const sandbox = { group: 'Sandbox', who: 'anyone' } as const
const page = ['text/html']
const missing = { 404: { what: 'For browsers: a page that says so.', texts: page } }
const decided = {
  ...missing,
  409: { what: 'For browsers: the page, as it was decided before.', texts: page },
  200: { what: 'Decided.', body: sandboxAnswer, texts: page, example: { state: 'captured' } },
  303: { what: 'For browsers: back to the shop.', headers: ['location'] },
}

const SANDBOX_PAGE = {
  ...sandbox,
  method: 'GET',
  path: '/sandbox/pay/{token}',
  summary: 'The pay page',
  answers: {
    200: { what: 'The page, or the state.', body: sandboxAnswer, texts: page, example: { state: 'open' } },
    ...missing,
  },
  problems: [],
} satisfies Call

const SANDBOX_APPROVED = {
  ...sandbox,
  method: 'POST',
  path: '/sandbox/pay/{token}/approve',
  summary: 'The buyer pays',
  query: z.object({ mode: z.string().optional().meta({ description: 'Makes the callback go wrong, for tests.' }) }),
  answers: decided,
  problems: ['payment_settled'],
} satisfies Call

const SANDBOX_DECLINED = {
  ...sandbox,
  method: 'POST',
  path: '/sandbox/pay/{token}/decline',
  summary: 'The buyer does not pay',
  query: z.object({ mode: z.string().optional() }),
  answers: decided,
  problems: ['payment_settled'],
} satisfies Call

const SANDBOX_HIDDEN = {
  ...sandbox,
  method: 'POST',
  path: '/sandbox/pay/{token}/hide',
  summary: 'For tests: the house does not answer about this payment for so long',
  query: z.object({ ms: z.string().meta({ type: 'integer', minimum: 0, maximum: 600_000 }) }),
  answers: { 200: { what: 'Hidden.', body: sandboxHiddenAnswer, example: { hiddenMs: 1000 } }, ...missing },
  problems: [],
} satisfies Call

export const OPERATIONS_CALLS: readonly Call[] = [
  LIVEZ,
  READYZ,
  METRICS,
  OPENAPI,
  DOCS,
  DOCS_ERRORS,
  SANDBOX_PAGE,
  SANDBOX_APPROVED,
  SANDBOX_DECLINED,
  SANDBOX_HIDDEN,
]
