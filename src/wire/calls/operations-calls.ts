/** The calls of those who run the server or read about its API; and the sandbox's pay page. */

import { z } from 'zod'
import { liveAnswer, readyAnswer, sandboxAnswer, sandboxHiddenAnswer } from '../answers.ts'
import { type Call, callsFor, callsForOperators, json } from '../call.ts'

const anyone = callsFor('Operations', 'anyone')
const sandbox = callsFor('Sandbox', 'anyone')
const PAGE = ['text/html']
const A_PAGE = { 200: { what: 'A page.', texts: PAGE } }
const MISSING = { 404: { what: 'For browsers: a page that says so.', texts: PAGE } }
const DECIDED = {
  ...MISSING,
  409: { what: 'For browsers: the page, as it was decided before.', texts: PAGE },
  200: { ...json('Decided.', sandboxAnswer, { state: 'captured' }), texts: PAGE },
  303: { what: 'For browsers: back to the shop.', headers: ['location'] },
}

export const operationsCalls = {
  alive: anyone.get('/livez', 'Is the process alive?', {
    answers: { 200: json('It is.', liveAnswer, { status: 'alive' }) },
  }),
  ready: anyone.get('/readyz', 'May it take traffic?', {
    answers: {
      200: json('It may.', readyAnswer, { status: 'ready', missing: [] }),
      503: json('Traffic should go elsewhere, and why.', readyAnswer, { status: 'unready', missing: ['stopping'] }),
    },
  }),
  metrics: callsForOperators('Operations', 'viewer').get('/metrics', 'Prometheus metrics', {
    more: 'Open, without a token, on a port of its own when METRICS_PORT is set: on loopback, or where METRICS_HOST says.',
    answers: { 200: { what: 'The metrics.', texts: ['text/plain', 'application/openmetrics-text'] } },
  }),
  openapi: anyone.get('/openapi.json', 'This description', {
    takes: ['If-None-Match'],
    answers: {
      200: json('OpenAPI 3.1.', z.looseObject({ openapi: z.string() }), undefined, ['etag']),
      304: { what: 'Not changed since that ETag.', headers: ['etag'] },
    },
  }),
  docs: anyone.get('/docs', 'This description, for people', { answers: A_PAGE }),
  docsErrors: anyone.get('/docs/errors', 'Every problem code: what it means, what to do', { answers: A_PAGE }),
  payPage: sandbox.get('/sandbox/pay/{token}', 'The pay page', {
    answers: { 200: { ...json('The page, or the state.', sandboxAnswer, { state: 'open' }), texts: PAGE }, ...MISSING },
  }),
  approve: sandbox.post('/sandbox/pay/{token}/approve', 'The buyer pays', {
    query: z.object({ mode: z.string().optional().meta({ description: 'Makes the callback go wrong, for tests.' }) }),
    answers: DECIDED,
    problems: ['payment_settled'],
  }),
  decline: sandbox.post('/sandbox/pay/{token}/decline', 'The buyer does not pay', {
    query: z.object({ mode: z.string().optional() }),
    answers: DECIDED,
    problems: ['payment_settled'],
  }),
  hide: sandbox.post(
    '/sandbox/pay/{token}/hide',
    'For tests: the sandbox does not answer about this payment for a time',
    {
      query: z.object({ ms: z.string().meta({ type: 'integer', minimum: 0, maximum: 600_000 }) }),
      answers: { 200: json('Hidden.', sandboxHiddenAnswer, { hiddenMs: 1000 }), ...MISSING },
    },
  ),
} satisfies Record<string, Call>
