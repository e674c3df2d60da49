/**
 * Operators signed in on the operations page. The cookie says who, until when and under which id, signed; never the token. Nothing of it
 * is kept: whoever has the same secret knows the session, so it is good at every edge of a cluster, and after a restart. The signature
 * covers the operator's token too: when that is changed or removed, its sessions end.
 *
 * Signing out takes the cookie away and ends the session at this edge at once. Elsewhere a copy of the cookie, had somebody made one,
 * would be good until its time is up. At most `ENDED_MAX` that were ended are remembered (the oldest is forgotten first); only a session
 * that stands can be ended, so nobody from outside can fill that memory.
 *
 * A cookie is sent by the browser whoever caused the request. So it counts only for our own pages (SameSite=Strict, and `trusts`), and for
 * anything that changes something only with a header that no form and no foreign page can send.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { hashOfToken, type Operators } from '../../admission/operator.ts'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { bearerOf } from '../http/exchange.ts'
import { ProblemError } from '../http/problem-response.ts'
import type { Identity } from '../identity.ts'

const NAME = 'stampede_ops'
const HEADER = 'x-stampede-ops'
const SESSION_S = 12 * 3600
const ENDED_MAX = 1000
const ID_BYTES = 16
/** Version, operator in base64url, unix ms, id, signature. */
const FORM = /^(v1\.([\w-]{1,88})\.(\d{1,15})\.([\w-]{22}))\.([\w-]{43})$/

export interface OperatorSessions {
  /** The value of `Set-Cookie` for a new session of whoever has this token, which is an operator's. */
  open(token: string): string
  /** Ends the request's session, if it has one; the value of `Set-Cookie` that takes the cookie away. */
  close(request: Request): string
  /** Whose session this request comes with, if it may be used for what the request wants. */
  operatorOf(request: Request): string | undefined
  /** Throws where the request was not sent by a script of our own page. */
  demandPage(request: Request): void
}

interface OperatorSessionsOptions {
  /** The same at every edge. */
  readonly secret: string
  readonly operators: Pick<Operators, 'verify' | 'hashesOf'>
  readonly clock: Clock
  readonly random: Random
  readonly secure: boolean
  readonly trusts: (request: Request) => boolean
}

interface Session {
  readonly id: string
  readonly operator: string
  readonly untilMs: number
}

export function createOperatorSessions(options: OperatorSessionsOptions): OperatorSessions {
  const { secret, operators, clock, random, secure, trusts } = options
  /** Id → until when it would have lasted; oldest first. */
  const ended = new Map<string, number>()
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`

  /** All hashes have the same length: nothing of what is said can slide into them. */
  function signatureOf(said: string, tokenHash: Uint8Array): Buffer {
    return createHmac('sha256', secret).update(tokenHash).update(said).digest()
  }

  /** The sessions that stand among the request's cookies. */
  function* sessionsOf(request: Request): Generator<Session> {
    for (const value of cookiesOf(request)) {
      const [, said, name, until, id, signature] = FORM.exec(value) ?? []
      if (said === undefined || name === undefined || id === undefined || signature === undefined) continue
      const operator = Buffer.from(name, 'base64url').toString('utf8')
      const given = Buffer.from(signature, 'base64url')
      let signed = false
      for (const hash of operators.hashesOf(operator))
        if (timingSafeEqual(signatureOf(said, hash), given)) signed = true
      const untilMs = Number(until)
      if (signed && untilMs > clock.now() && !ended.has(id)) yield { id, operator, untilMs }
    }
  }

  function isFromPage(request: Request): boolean {
    return trusts(request) && request.headers.get(HEADER) !== null
  }

  return {
    open(token) {
      const operator = operators.verify(token)
      assert(operator !== undefined, 'a session was asked for with something that is no operator token')
      const id = Buffer.from(random.bytes(ID_BYTES)).toString('base64url')
      const untilMs = Math.floor(clock.now()) + SESSION_S * 1000
      const said = `v1.${Buffer.from(operator, 'utf8').toString('base64url')}.${untilMs}.${id}`
      const value = `${said}.${signatureOf(said, hashOfToken(token)).toString('base64url')}`
      assert(FORM.test(value), 'a session was written that could not be read')
      return `${NAME}=${value}; Max-Age=${SESSION_S}; ${attributes}`
    },
    close(request) {
      for (const { id, untilMs } of [...sessionsOf(request)]) {
        for (const [old, until] of ended) if (until <= clock.now() || ended.size >= ENDED_MAX) ended.delete(old)
        ended.set(id, untilMs)
      }
      return `${NAME}=; Max-Age=0; ${attributes}`
    },
    operatorOf(request) {
      const reads = request.method === 'GET' || request.method === 'HEAD'
      if (!(reads ? trusts(request) : isFromPage(request))) return undefined
      for (const { operator } of sessionsOf(request)) return operator
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
function cookiesOf(request: Request): readonly string[] {
  const found: string[] = []
  for (const pair of (request.headers.get('cookie') ?? '').split(';')) {
    const trimmed = pair.trim()
    if (trimmed.startsWith(`${NAME}=`)) found.push(trimmed.slice(NAME.length + 1))
  }
  return found
}
