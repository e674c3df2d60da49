/** Who is asking: the buyer by bearer token or session cookie, the operator by bearer token. */

import type { BuyerTokens } from '../admission/buyer-token.ts'
import type { Operators } from '../admission/operator.ts'
import { readSessionCookie } from '../admission/session.ts'
import type { BuyerId } from '../domain/ids.ts'
import { bearerOf } from './http/exchange.ts'
import { ProblemError } from './http/problem-response.ts'

export interface Identity {
  buyer(request: Request): Promise<BuyerId>
  operator(request: Request): string
}

/** `trusts` says whether the page behind a request may use the cookie (`browsers.ts`). */
export function createIdentity(
  buyers: BuyerTokens,
  operators: Operators,
  trusts: (request: Request) => boolean,
): Identity {
  return {
    async buyer(request) {
      const token = bearerOf(request) ?? (trusts(request) ? cookieOf(request) : undefined)
      const buyer = token === undefined ? undefined : await buyers.verify(token)
      if (buyer === undefined) throw new ProblemError('unauthenticated')
      return buyer
    },
    operator(request) {
      const token = bearerOf(request)
      const name = token === undefined ? undefined : operators.verify(token)
      if (name === undefined)
        throw new ProblemError('unauthenticated', 'Send the operator token as "Authorization: Bearer …".')
      return name
    },
  }
}

function cookieOf(request: Request): string | undefined {
  return readSessionCookie(request.headers.get('cookie') ?? '')
}
