/**
 * Every "no" that leaves over HTTP, in one catalogue: a stable code, its status, and words for people. Bodies are
 * `application/problem+json` (RFC 9457). Those without details of their own are serialised once and sent as they are.
 */

import { UNRENDERED } from './security-headers.ts'

export const PROBLEMS = {
  body_invalid: { status: 400, title: 'The request is not what this call takes' },
  unauthenticated: { status: 401, title: 'Sign in first' },
  ticket_invalid: { status: 401, title: 'This ticket is not valid here' },
  signature_invalid: { status: 401, title: 'The signature does not fit' },
  not_found: { status: 404, title: 'There is no such thing' },
  method_not_allowed: { status: 405, title: 'This address does not take that method' },
  sold_out: { status: 409, title: 'Sold out' },
  not_enough: { status: 409, title: 'Fewer are left than you asked for' },
  sale_not_open: { status: 409, title: 'The sale is not open yet' },
  sale_paused: { status: 409, title: 'The sale is paused' },
  attempts_used: { status: 409, title: 'All attempts are used' },
  not_changeable: { status: 409, title: 'This can no longer be changed' },
  order_paid: { status: 409, title: 'The order is paid' },
  order_not_paid: { status: 409, title: 'The order is not paid' },
  order_closed: { status: 409, title: 'The order is closed' },
  payment_settled: { status: 409, title: 'The payment was decided before' },
  not_placed: { status: 409, title: 'The order is not placed yet' },
  sale_over: { status: 410, title: 'The sale is over' },
  body_too_large: { status: 413, title: 'The request is too large' },
  quantity_invalid: { status: 422, title: 'That quantity is not offered' },
  idempotency_key_reused: { status: 422, title: 'This Idempotency-Key was used for something else' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  busy: { status: 503, title: 'Busy' },
} as const satisfies Record<string, { status: number; title: string }>

export type ProblemCode = keyof typeof PROBLEMS

/** Words where the title alone leaves a person wondering what it means or what to do. */
const DETAILS: Partial<Record<ProblemCode, string>> = {
  unauthenticated: 'Send the buyer token as "Authorization: Bearer …", or sign in at /api/session.',
  ticket_invalid: 'Get a ticket for this item first and send it as "Authorization: Bearer …".',
  sold_out: 'All units are taken. Units may return when orders are not paid in time.',
  sale_paused: 'The shop has paused the sale. Ask again in a moment with the same ticket.',
  sale_over: 'Nothing more is sold here. Your orders are at /api/orders.',
  attempts_used: 'You have ordered this item as often as the sale allows.',
  body_too_large: 'A request body may have 16 KiB.',
  busy: 'The answer is not known yet, or too many are waiting. Ask again with the same ticket: nothing is ordered twice.',
}

/** Lean: this is what the crowd gets. */
const PROBLEM_HEADERS = { 'content-type': 'application/problem+json', 'x-content-type-options': 'nosniff' }
const RETRY_HEADERS = { ...PROBLEM_HEADERS, 'retry-after': '1' }
const BEARER_HEADERS = { ...PROBLEM_HEADERS, 'www-authenticate': 'Bearer' }
const HEADERS: Partial<Record<ProblemCode, Readonly<Record<string, string>>>> = {
  busy: RETRY_HEADERS,
  not_placed: RETRY_HEADERS,
  unauthenticated: BEARER_HEADERS,
  ticket_invalid: BEARER_HEADERS,
}

/** A body that is the same each time, written once. */
function bodyOf(code: ProblemCode, detail: string | undefined, more: Readonly<Record<string, unknown>>): string {
  const { status, title } = PROBLEMS[code]
  return JSON.stringify({
    type: `/docs/errors#${code}`,
    title,
    status,
    detail: detail ?? DETAILS[code] ?? title,
    code,
    ...more,
  })
}

const constant = new Map<ProblemCode, Response>()

/** A refusal without details: the cheapest bytes there are. A copy shares its body with the first, which is never sent. */
export function plainProblem(code: ProblemCode): Response {
  let known = constant.get(code)
  if (known === undefined) {
    const headers = HEADERS[code] ?? PROBLEM_HEADERS
    known = new Response(bodyOf(code, undefined, {}), { status: PROBLEMS[code].status, headers })
    constant.set(code, known)
  }
  return known.clone()
}

export function problem(
  code: ProblemCode,
  options: {
    detail?: string
    more?: Readonly<Record<string, unknown>>
    headers?: Readonly<Record<string, string>>
  } = {},
): Response {
  return new Response(bodyOf(code, options.detail, options.more ?? {}), {
    status: PROBLEMS[code].status,
    headers: { ...UNRENDERED, ...(HEADERS[code] ?? PROBLEM_HEADERS), ...options.headers },
  })
}

/** Thrown by handlers off the hot path; the server turns it into its response. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly more: Readonly<Record<string, unknown>>

  constructor(code: ProblemCode, detail?: string, more: Readonly<Record<string, unknown>> = {}) {
    super(detail ?? DETAILS[code] ?? PROBLEMS[code].title)
    this.code = code
    this.more = more
  }

  toResponse(): Response {
    return problem(this.code, { detail: this.message, more: this.more })
  }
}
