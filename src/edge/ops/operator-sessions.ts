/**
 * Operators signed in on the operations page. The cookie holds the operator's name, an end and an id, signed; never the token or the role.
 * The server keeps nothing: every edge with the same secret accepts the session, also after a restart. The signature covers the operator's token:
 * when the token is changed or removed, its sessions end.
 *
 * Signing out takes the cookie away and ends the session at this edge at once; a copy of the cookie stays good at other edges until its
 * end. At most `ENDED_MAX` ended sessions are remembered (the oldest is forgotten first); only a valid session can be ended, so requests
 * from outside can't fill that memory.
 *
 * A browser sends a cookie whichever page caused the request. So it counts only for our own pages (SameSite=Strict, and `isHome`; pages in
 * CORS_ORIGINS are not our own), and for changes only with a header that no form and no page of another site can send.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { hashOfToken, type Operator, type Operators } from '../../admission/operator.ts'
import { cookiesOf, namesOf } from '../../admission/session.ts'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { ProblemError } from '../http/problem-response.ts'

const NAME = 'stampede_ops'
const HEADER = 'x-stampede-ops'
const SESSION_S = 12 * 3600
const ENDED_MAX = 1000
const ID_BYTES = 16
/** Version, operator in base64url, unix ms, id, signature. */
const FORM = /^(v1\.([\w-]{1,88})\.(\d{1,15})\.([\w-]{22}))\.([\w-]{43})$/

interface OperatorSessionsOptions {
  /** The same at every edge. */
  readonly secret: string
  readonly operators: Pick<Operators, 'verify' | 'named'>
  readonly clock: Clock
  readonly random: Random
  readonly secure: boolean
  /** Is it our own page, or no page, that asks? */
  readonly isHome: (request: Request) => boolean
}

interface Session {
  readonly id: string
  readonly operator: Operator
  readonly untilMs: number
}

export class OperatorSessions {
  readonly #options: OperatorSessionsOptions
  readonly #attributes: string
  /** Id → until when the session would have lasted; oldest first. */
  readonly #ended = new Map<string, number>()

  constructor(options: OperatorSessionsOptions) {
    this.#options = options
    this.#attributes = `Path=/; HttpOnly; SameSite=Strict${options.secure ? '; Secure' : ''}`
  }

  /** The values of `Set-Cookie` for a new session of the operator with this token. */
  open(token: string): readonly string[] {
    const { operators, random, clock, secure } = this.#options
    const operator = operators.verify(token)
    assert(operator !== undefined, 'a session was asked for with something that is no operator token')
    const id = Buffer.from(random.bytes(ID_BYTES)).toString('base64url')
    const untilMs = Math.floor(clock.now()) + SESSION_S * 1000
    const claims = `v1.${Buffer.from(operator.name, 'utf8').toString('base64url')}.${untilMs}.${id}`
    const value = `${claims}.${this.#signatureOf(claims, hashOfToken(token)).toString('base64url')}`
    assert(FORM.test(value), 'a session was written that could not be read')
    return namesOf(NAME, secure).map(name => `${name}=${value}; Max-Age=${SESSION_S}; ${this.#attributes}`)
  }

  /** Ends the request's session, if it has one; the values of `Set-Cookie` that take the cookie away. */
  close(request: Request): readonly string[] {
    const ended = this.#ended
    for (const { id, untilMs } of [...this.#sessionsOf(request)]) {
      for (const [old, until] of ended)
        if (until <= this.#options.clock.now() || ended.size >= ENDED_MAX) ended.delete(old)
      ended.set(id, untilMs)
    }
    return namesOf(NAME, this.#options.secure).map(name => `${name}=; Max-Age=0; ${this.#attributes}`)
  }

  /** The operator of the request's session, if the session may be used for this request. */
  operatorOf(request: Request): Operator | undefined {
    const reads = request.method === 'GET' || request.method === 'HEAD'
    if (!(reads ? this.#options.isHome(request) : this.#isFromPage(request))) return undefined
    return this.#sessionsOf(request).next().value?.operator
  }

  /** Throws where the request was not sent by a script of our own page. */
  demandPage(request: Request): void {
    if (!this.#isFromPage(request))
      throw new ProblemError('unauthenticated', `Only the page itself may: send "${HEADER}: 1".`)
  }

  #isFromPage(request: Request): boolean {
    return this.#options.isHome(request) && request.headers.get(HEADER) !== null
  }

  /** All hashes have the same length, so no part of the claims can be read as part of the hash. */
  #signatureOf(claims: string, tokenHash: Uint8Array): Buffer {
    return createHmac('sha256', this.#options.secret).update(tokenHash).update(claims).digest()
  }

  /** The valid sessions among the request's cookies. */
  *#sessionsOf(request: Request): Generator<Session, undefined> {
    const { operators, clock } = this.#options
    for (const value of cookiesOf(request.headers.get('cookie') ?? '', NAME)) {
      const [, claims, name, until, id, signature] = FORM.exec(value) ?? []
      if (claims === undefined || name === undefined || id === undefined || signature === undefined) continue
      const known = operators.named(Buffer.from(name, 'base64url').toString('utf8'))
      if (known === undefined) continue
      const given = Buffer.from(signature, 'base64url')
      const signed = timingSafeEqual(this.#signatureOf(claims, known.hash), given)
      const untilMs = Number(until)
      if (signed && untilMs > clock.now() && !this.#ended.has(id)) yield { id, operator: known.operator, untilMs }
    }
  }
}
