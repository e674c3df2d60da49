/**
 * Operators signed in on the operations page. The cookie holds a random id and never the token; who it stands for is kept here, in
 * memory: a restart signs everybody out, and at most `SESSIONS_MAX` are in (the oldest goes first). Ids are kept hashed, so that looking one up
 * tells nothing by the time it takes.
 *
 * A cookie is sent by the browser whoever caused the request. So it counts only for our own pages (SameSite=Strict, and `trusts`), and for
 * anything that changes something only with a header that no form and no foreign page can send.
 */

import { createHash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { bearerOf } from '../exchange.ts'
import type { Identity } from '../identity.ts'
import { ProblemError } from '../problems.ts'

const NAME = 'stampede_ops'
const HEADER = 'x-stampede-ops'
const SESSION_S = 12 * 3600
const SESSIONS_MAX = 1000
const ID_BYTES = 32

export interface OperatorSessions {
  /** The value of `Set-Cookie` for a new session. */
  open(operator: string): string
  /** Ends the request's session, if it has one; the value of `Set-Cookie` that takes the cookie away. */
  close(request: Request): string
  /** Whose session this request comes with, if it may be used for what the request wants. */
  operatorOf(request: Request): string | undefined
  /** Throws where the request was not sent by a script of our own page. */
  demandPage(request: Request): void
}

interface OperatorSessionsOptions {
  readonly clock: Clock
  readonly random: Random
  readonly secure: boolean
  readonly trusts: (request: Request) => boolean
}

export function createOperatorSessions({ clock, random, secure, trusts }: OperatorSessionsOptions): OperatorSessions {
  /** Oldest first. */
  const sessions = new Map<string, { readonly operator: string; readonly untilMs: number }>()
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`

  function isFromPage(request: Request): boolean {
    return trusts(request) && request.headers.get(HEADER) !== null
  }

  return {
    open(operator) {
      const id = Buffer.from(random.bytes(ID_BYTES)).toString('base64url')
      for (const [hash, { untilMs }] of sessions)
        if (untilMs <= clock.elapsed() || sessions.size >= SESSIONS_MAX) sessions.delete(hash)
      sessions.set(hashOf(id), { operator, untilMs: clock.elapsed() + SESSION_S * 1000 })
      return `${NAME}=${id}; Max-Age=${SESSION_S}; ${attributes}`
    },
    close(request) {
      for (const id of idsOf(request)) sessions.delete(hashOf(id))
      return `${NAME}=; Max-Age=0; ${attributes}`
    },
    operatorOf(request) {
      const reads = request.method === 'GET' || request.method === 'HEAD'
      if (!(reads ? trusts(request) : isFromPage(request))) return undefined
      for (const id of idsOf(request)) {
        const session = sessions.get(hashOf(id))
        if (session !== undefined && session.untilMs > clock.elapsed()) return session.operator
      }
      return undefined
    },
    demandPage(request) {
      if (!isFromPage(request))
        throw new ProblemError('unauthenticated', `Only the page itself may: send "${HEADER}: 1".`)
    },
  }
}

/** The same identity, which also knows operators by their session. A token counts before a cookie, even a wrong one. */
export function withOperatorSessions(identity: Identity, sessions: OperatorSessions): Identity {
  return {
    buyer: request => identity.buyer(request),
    operator(request) {
      const operator = bearerOf(request) === undefined ? sessions.operatorOf(request) : undefined
      return operator ?? identity.operator(request)
    },
  }
}

/** Several servers on one host share its cookies, so there may be more than one. */
function idsOf(request: Request): readonly string[] {
  const found: string[] = []
  for (const pair of (request.headers.get('cookie') ?? '').split(';')) {
    const trimmed = pair.trim()
    if (trimmed.startsWith(`${NAME}=`)) found.push(trimmed.slice(NAME.length + 1))
  }
  return found
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}
