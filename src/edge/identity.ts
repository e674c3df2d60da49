/** Who is asking: the buyer by bearer token or session cookie, the operator by bearer token. */

import type { BuyerTokens } from '../admission/buyer-token.ts'
import type { Operators } from '../admission/operator.ts'
import { readSessionCookie } from '../admission/session.ts'
import type { BuyerId } from '../domain/ids.ts'
import { bearerOf } from './exchange.ts'
import { ProblemError } from './problems.ts'

export interface Identity {
  buyer(request: Request): Promise<BuyerId>
  operator(request: Request): string
}

export function createIdentity(buyers: BuyerTokens, operators: Operators): Identity {
  return {
    async buyer(request) {
      const token = bearerOf(request) ?? readSessionCookie(request.headers.get('cookie') ?? '')
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
