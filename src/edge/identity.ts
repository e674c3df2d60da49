/**
 * Who is asking. The buyer: by bearer token or session cookie; who opens a live socket also by a token offered as a subprotocol. The
 * operator: by bearer token, or by the session of the operations page. A token counts from anywhere, and before a cookie, even a wrong one.
 * A browser sends cookies with any page's request, so they count only where the page is trusted (`browsers.ts`).
 */

import { decodeJwt } from 'jose'
import { type BuyerTokens, isGuestToken } from '../admission/buyer-token.ts'
import type { Operator } from '../admission/operator.ts'
import type { OperatorCheck } from '../admission/operator-guard.ts'
import type { CallLimits } from '../admission/rate-limits.ts'
import { readSessionCookie } from '../admission/session.ts'
import type { BuyerId } from '../domain/ids.ts'
import { isAtLeast, type OperatorRole } from '../wire/operator-role.ts'
import { bearerOf, type Exchange, type Handler } from './http/exchange.ts'
import { ProblemError, RateLimitedError } from './http/problem-response.ts'
import type { OperatorSessions } from './ops/operator-sessions.ts'

type Trusts = (request: Request) => boolean

export interface Identity {
  buyer(request: Request): Promise<BuyerId>
  /** A guest whom this server, or its cluster, has signed in. */
  guest(request: Request): Promise<BuyerId>
  /** What else the shop's token says of a buyer that was identified. */
  claims(request: Request): Readonly<Record<string, unknown>>
  operator(request: Request): Operator
}

export function createIdentity(
  buyers: BuyerTokens,
  check: (token: string, request: Request) => OperatorCheck,
  trusts: Trusts,
  sessions?: Pick<OperatorSessions, 'operatorOf'>,
): Identity {
  async function identify(request: Request, counts: (verified: string) => boolean): Promise<BuyerId> {
    const token = bearerOf(request) ?? cookieOf(request, trusts)
    const buyer = token === undefined ? undefined : await buyers.verify(token)
    if (token === undefined || buyer === undefined || !counts(token)) throw new ProblemError('unauthenticated')
    return buyer
  }
  return {
    buyer: request => identify(request, () => true),
    guest: request => identify(request, isGuestToken),
    claims(request) {
      const token = bearerOf(request) ?? cookieOf(request, trusts)
      return token === undefined ? {} : decodeJwt(token)
    },
    operator(request) {
      const token = bearerOf(request)
      const operator = token === undefined ? sessions?.operatorOf(request) : accepted(check(token, request))
      if (operator === undefined)
        throw new ProblemError('unauthenticated', 'Send the operator token as "Authorization: Bearer …".')
      return operator
    },
  }
}

/** A buyer who calls too often is refused, whatever is called. Counted once the token is verified: a forged one must not use up another's. */
export function limitBuyers(identity: Identity, limits: CallLimits): Identity {
  return {
    ...identity,
    async buyer(request) {
      const buyer = await identity.buyer(request)
      const limited = limits.buyer(buyer)
      if (limited !== undefined) throw new RateLimitedError(limited)
      return buyer
    },
  }
}

/** The operator; undefined if the token is wrong. Throws where too many were tried. */
export function accepted(checked: OperatorCheck): Operator | undefined {
  if (checked.kind === 'rate_limited') throw new RateLimitedError(checked)
  return checked.kind === 'accepted' ? checked.operator : undefined
}

const BEARER_PROTOCOL = 'bearer'

/**
 * The buyer who opens a live socket, and when the token ends, and the socket with it. A page without a cookie offers its token:
 * `Sec-WebSocket-Protocol: bearer, <token>`; the handshake must answer with `protocol` then, or browsers hang up.
 */
export async function findSocketBuyer(buyers: Pick<BuyerTokens, 'verify'>, trusts: Trusts, request: Request) {
  const offered = offeredToken(request.headers.get('sec-websocket-protocol'))
  const token = bearerOf(request) ?? offered ?? cookieOf(request, trusts)
  const buyer = token === undefined ? undefined : await buyers.verify(token)
  if (token === undefined || buyer === undefined) return undefined
  const { exp = Number.POSITIVE_INFINITY } = decodeJwt(token)
  return { buyer, expiresAtMs: exp * 1000, protocol: offered === undefined ? undefined : BEARER_PROTOCOL }
}

function offeredToken(header: string | null): string | undefined {
  const [first, token] = header?.split(',').map(word => word.trim()) ?? []
  return first === BEARER_PROTOCOL && token !== '' ? token : undefined
}

/** The token in the session cookie, unverified; undefined from a page that is not trusted. */
export function cookieOf(request: Request, trusts: Trusts): string | undefined {
  const cookie = request.headers.get('cookie')
  return cookie !== null && trusts(request) ? readSessionCookie(cookie) : undefined
}

/** A handler for operators of this role and above; it gets the operator's name. No cache keeps the answers. */
export function operatorsOnly(
  identity: Pick<Identity, 'operator'>,
  needs: OperatorRole,
  handle: (exchange: Exchange, by: string) => Response | Promise<Response>,
): Handler {
  return async exchange => {
    const { name, role } = identity.operator(exchange.request)
    if (!isAtLeast(role, needs))
      throw new ProblemError('forbidden', `This needs the role ${needs}; ${name} is ${role}.`, { needs })
    const answer = await handle(exchange, name)
    if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store')
    return answer
  }
}
