/**
 * Does an answer fit what the API says about itself? Built on the very schemas the description is made from. Stricter than a client may
 * be: what the description does not know is an error, so nothing is answered that nobody wrote down.
 */

import { isDeepStrictEqual } from 'node:util'
import { createRouter } from '../../src/edge/http/router.ts'
import { problemAnswer } from '../../src/wire/answers.ts'
import { type Call, problemsOf } from '../../src/wire/call.ts'
import { ALL_CALLS } from '../../src/wire/calls/all-calls.ts'
import { PROBLEMS, type ProblemCode } from '../../src/wire/problems.ts'

const find = createRouter(ALL_CALLS.map(call => ({ ...call, handle: () => new Response() })))
/** Whatever the address: there is nothing (a server need not have every call), it takes other methods, or it is no request at all. */
const ANYWHERE: readonly string[] = ['not_found', 'method_not_allowed', 'body_invalid', 'body_too_large', 'internal']
/** Of a call that is described, only that it may not be here. */
const ELSEWHERE: readonly string[] = ['not_found', 'method_not_allowed']
const BASE = ['type', 'title', 'status', 'detail', 'code']

/** `path` without the query. Throws with the first thing that does not fit. */
export function assertDescribed(method: string, path: string, status: number, headers: Headers, body: string): void {
  const wrong = fault(method, path, status, headers, body)
  if (wrong !== undefined)
    throw new Error(`${method} ${path} → ${status} is not as described: ${wrong}\n${body.slice(0, 500)}`)
}

function fault(method: string, path: string, status: number, headers: Headers, body: string): string | undefined {
  const match = find(method, path)
  if (method === 'OPTIONS' && status === 204) return headers.has('allow') ? undefined : 'no Allow'
  const type = headers.get('content-type')?.split(';')[0] ?? ''
  const call =
    match.kind === 'found'
      ? ALL_CALLS.find(one => one.path === match.path && one.method === (method === 'HEAD' ? 'GET' : method))
      : undefined
  if (type === 'application/problem+json') {
    const codes = call === undefined ? ANYWHERE : [...problemsOf(call), ...ELSEWHERE]
    return problemFault(new Set(codes), status, headers, method === 'HEAD' ? undefined : body)
  }
  if (call === undefined) return 'there is no such call'
  return answerFault(call, status, headers, type, method === 'HEAD' ? undefined : body)
}

function answerFault(
  call: Call,
  status: number,
  headers: Headers,
  type: string,
  body: string | undefined,
): string | undefined {
  const answer = call.answers[status]
  if (answer === undefined) return 'no such status'
  const missing = (answer.headers ?? []).filter(name => !headers.has(name))
  if (missing.length > 0) return `lacks ${missing.join(', ')}`
  if (body === undefined) return undefined
  if (answer.body === undefined && answer.texts === undefined) return body === '' ? undefined : 'has a body'
  if (answer.texts?.includes(type)) return undefined
  if (answer.body === undefined || (type !== 'application/json' && status !== 303)) return `is ${type}`
  if (headers.get('x-content-type-options') !== 'nosniff') return 'may be sniffed'
  const value: unknown = JSON.parse(body)
  const parsed = answer.body.safeParse(value)
  if (!parsed.success) return parsed.error.issues.map(issue => `${issue.path.join('.')}: ${issue.message}`).join('; ')
  return isDeepStrictEqual(parsed.data, value) ? undefined : 'has members that are not described'
}

function problemFault(
  codes: ReadonlySet<string>,
  status: number,
  headers: Headers,
  body: string | undefined,
): string | undefined {
  if (body === undefined) return undefined
  const value = JSON.parse(body) as Record<string, unknown>
  const parsed = problemAnswer.safeParse(value)
  if (!parsed.success) return parsed.error.message
  const code = parsed.data.code as ProblemCode
  if (!codes.has(code)) return `this call has no problem "${code}"`
  const { status: expected, title } = PROBLEMS[code]
  if (status !== expected || parsed.data.status !== expected) return `${code} is ${expected}`
  if (parsed.data.title !== title || parsed.data.type !== `/docs/errors#${code}`)
    return 'title or type is not the code’s'
  const known = new Set([...BASE, ...(PROBLEMS[code].more ?? [])])
  const unknown = Object.keys(value).filter(key => !known.has(key))
  if (unknown.length > 0) return `has ${unknown.join(', ')}`
  const lacking = (PROBLEMS[code].headers ?? []).filter(name => !headers.has(name))
  return lacking.length > 0 ? `lacks ${lacking.join(', ')}` : undefined
}
