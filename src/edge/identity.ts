/** Who is asking: the buyer by bearer token or session cookie, the operator by bearer token. */

import type { BuyerTokens } from '../admission/buyer-token.ts'
import type { Operators } from '../admission/operator.ts'
import { readSessionCookie } from '../admission/session.ts'
import type { BuyerId } from '../domain/ids.ts'
import type { Call } from '../wire/call.ts'
import { bearerOf, type Exchange, type Route } from './http/exchange.ts'
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

type OperatorHandler = (exchange: Exchange, by: string) => Response | Promise<Response>

/** To make routes that only operators may use; the handler gets the operator's name. No cache keeps the answers. */
export function routesForOperators(identity: Pick<Identity, 'operator'>) {
  return ({ method, path }: Pick<Call, 'method' | 'path'>, handle: OperatorHandler): Route => ({
    method,
    path,
    async handle(exchange) {
      const answer = await handle(exchange, identity.operator(exchange.request))
      if (!answer.headers.has('cache-control')) answer.headers.set('cache-control', 'no-store')
      return answer
    },
  })
}

function cookieOf(request: Request): string | undefined {
  return readSessionCookie(request.headers.get('cookie') ?? '')
}
