/**
 * The problems of `wire/problems.ts` as HTTP answers: `application/problem+json` (RFC 9457). A problem without details of its own is
 * serialised once and copied.
 */

import { type RateLimited, rateLimitHeaders } from '../../admission/rate-limit-policy.ts'
import { PROBLEMS, type ProblemCode, problemBody } from '../../wire/problems.ts'
import { UNRENDERED } from './security-headers.ts'

type Fields = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, string>>

/** Lean: this is what the crowd gets. */
const PROBLEM_HEADERS = { 'content-type': 'application/problem+json', 'x-content-type-options': 'nosniff' }
const RETRY_HEADERS = { ...PROBLEM_HEADERS, 'retry-after': '1' }
const BEARER_HEADERS = { ...PROBLEM_HEADERS, 'www-authenticate': 'Bearer' }
const HEADERS: Partial<Record<ProblemCode, Headers>> = {
  busy: RETRY_HEADERS,
  not_placed: RETRY_HEADERS,
  unauthenticated: BEARER_HEADERS,
  ticket_invalid: BEARER_HEADERS,
}

const prepared = new Map<ProblemCode, Response>()
/** Of answers with details. */
const ownHeaders = new Map<ProblemCode, Headers>()

/** A refusal without details: the cheapest answer. The copies share the body of the prepared one, which is never sent. */
export function plainProblem(code: ProblemCode): Response {
  let known = prepared.get(code)
  if (known === undefined) {
    const headers = HEADERS[code] ?? PROBLEM_HEADERS
    known = new Response(bodyOf(code, undefined), { status: PROBLEMS[code].status, headers })
    prepared.set(code, known)
  }
  return known.clone()
}

export function problem(
  code: ProblemCode,
  options: { readonly detail?: string; readonly more?: Fields; readonly headers?: Headers } = {},
): Response {
  const own = headersOf(code)
  return new Response(bodyOf(code, options.detail, options.more), {
    status: PROBLEMS[code].status,
    headers: options.headers === undefined ? own : { ...own, ...options.headers },
  })
}

function headersOf(code: ProblemCode): Headers {
  let known = ownHeaders.get(code)
  if (known === undefined) {
    known = { ...UNRENDERED, ...(HEADERS[code] ?? PROBLEM_HEADERS) }
    ownHeaders.set(code, known)
  }
  return known
}

/** `rate_limited`, with the limit and when to ask again. */
export function rateLimitedProblem(refused: RateLimited): Response {
  return problem('rate_limited', {
    detail: `At most ${refused.limit} in ${refused.windowS} s (${refused.policy}). Ask again in ${refused.retryAfterS} s.`,
    headers: rateLimitHeaders(refused),
  })
}

function bodyOf(code: ProblemCode, detail: string | undefined, more?: Fields): string {
  return JSON.stringify({ ...problemBody(code, detail ?? detailOf(code)), ...more })
}

function detailOf(code: ProblemCode): string {
  const { detail, title } = PROBLEMS[code]
  return detail ?? title
}

/** Thrown by handlers off the hot path; the server turns it into its response. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly more: Fields

  constructor(code: ProblemCode, detail?: string, more: Fields = {}) {
    super(detail ?? detailOf(code))
    this.code = code
    this.more = more
  }

  toResponse(): Response {
    return problem(this.code, { detail: this.message, more: this.more })
  }
}

/** Thrown by handlers that met a limit. */
export class RateLimitedError extends ProblemError {
  readonly #refused: RateLimited

  constructor(refused: RateLimited) {
    super('rate_limited')
    this.#refused = refused
  }

  override toResponse(): Response {
    return rateLimitedProblem(this.#refused)
  }
}

export function noSuch(
  thing:
    | 'sale'
    | 'order'
    | 'sale or item'
    | 'sale with a waiting line'
    | 'item in this sale'
    | 'webhook'
    | 'delivery'
    | 'dead letter'
    | 'entry',
): ProblemError {
  return new ProblemError('not_found', `There is no such ${thing}.`)
}

export function bodyInvalid(field: string, detail: string): ProblemError {
  return new ProblemError('body_invalid', detail, { field })
}

export function contactInvalid({ field, why }: { readonly field: string; readonly why: string }): ProblemError {
  return new ProblemError('contact_invalid', `"contact.${field}" ${why}.`, { field: `contact.${field}` })
}

export function notChangeable(field: string, detail: string): ProblemError {
  return new ProblemError('not_changeable', detail, { field })
}

type AnswerFor<Outcome> = (outcome: Outcome) => Response | ProblemError | Promise<Response>

/** One answer for each kind of outcome; the compiler asks for all of them. */
export async function answerBy<Outcome extends { readonly kind: string }>(
  outcome: Outcome,
  answers: { readonly [Kind in Outcome['kind']]: AnswerFor<Extract<Outcome, { readonly kind: Kind }>> },
): Promise<Response> {
  const answerOf = answers[outcome.kind as Outcome['kind']] as AnswerFor<never>
  const answer = await answerOf(outcome as never)
  if (answer instanceof ProblemError) throw answer
  return answer
}
