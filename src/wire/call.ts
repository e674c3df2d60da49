/**
 * A call of the API, described: its address, who may make it, what it takes and what it answers. The routes take method, path and schemas
 * from it, and the API's description and the tests' checks are made from it, so nothing else can contradict it. Knows nothing of handlers.
 */

import type { z } from 'zod'
import { OPERATOR_ROLES, type OperatorRole } from './operator-role.ts'
import type { ProblemCode } from './problems.ts'

/** A buyer's token or cookie, a ticket, an operator's token, a provider's signature, or nothing at all. */
type Who = 'anyone' | 'buyer' | 'ticket' | 'operator' | 'provider'

export interface Answer {
  readonly what: string
  /** A JSON body; absent: none. */
  readonly body?: z.ZodType
  /** Other kinds of body it may have, by media type. */
  readonly texts?: readonly string[]
  /** Headers that are always there. */
  readonly headers?: readonly string[]
  readonly example?: unknown
}

interface Details {
  /** What the summary leaves open. */
  readonly more?: string
  readonly query?: z.ZodObject
  /** Request headers it reads, apart from those that say who is asking. */
  readonly takes?: readonly string[]
  /** What a JSON body must be; without one the call ignores bodies. An empty body counts as `{}`. */
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown }
  /** The media types of a body that is a file, sent as it is. */
  readonly file?: readonly string[]
  readonly answers: Readonly<Record<number, Answer>>
  /** Refusals of its own; `problemsOf` adds those that come with its form. */
  readonly problems?: readonly ProblemCode[]
  /** Served by the server itself, not by a route. */
  readonly apart?: true
}

export interface Call extends Details {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Segments in braces are parameters: `/api/sales/{sale}`. */
  readonly path: string
  readonly group: 'Buyers' | 'Operators' | 'Operations' | 'Sandbox'
  readonly summary: string
  readonly who: Who
  /** Of operators' calls: the least role that may make it. */
  readonly role?: OperatorRole
}

/** To describe the calls of one group that the same people may make. */
export function callsFor(group: Call['group'], who: Exclude<Who, 'operator'>) {
  return describersOf({ group, who })
}

/** The same for operators of this role and above. */
export function callsForOperators(group: Call['group'], role: OperatorRole) {
  return describersOf({ group, who: 'operator', role })
}

function describersOf<Common extends Pick<Call, 'group' | 'who' | 'role'>>(common: Common) {
  const by =
    (method: Call['method']) =>
    <D extends Details>(path: string, summary: string, details: D) => ({
      ...details,
      ...common,
      method,
      path,
      summary,
    })
  return { get: by('GET'), post: by('POST'), patch: by('PATCH'), delete: by('DELETE') }
}

/** An answer with a JSON body. */
export function json(what: string, body: z.ZodType, example?: unknown, headers?: readonly string[]): Answer {
  return { what, body, ...(example !== undefined && { example }), ...(headers !== undefined && { headers }) }
}

export const NO_STORE = ['cache-control']

/** An answer with a JSON body that no cache keeps. */
export function uncached(what: string, body: z.ZodType, example: unknown): Answer {
  return json(what, body, example, NO_STORE)
}

/** Every code this call can answer with. */
export function problemsOf(call: Call): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>(call.problems)
  if (call.who === 'buyer' || call.who === 'operator') codes.add('unauthenticated')
  if (call.who === 'operator') codes.add('rate_limited')
  if (call.role !== undefined && call.role !== OPERATOR_ROLES[0]) codes.add('forbidden')
  if (call.group === 'Buyers' && call.who !== 'provider') codes.add('rate_limited').add('denied')
  if (call.path.includes('{')) codes.add('not_found')
  if (call.body !== undefined || call.file !== undefined || call.query !== undefined) codes.add('body_invalid')
  codes.add('body_too_large').add('internal').add('busy')
  return [...codes]
}
