/**
 * What a request brings for a bound ticket (`admission/ticket-binding.ts`). The sign-in is the bearer or the cookie when a ticket is fetched; with the
 * order the bearer is the ticket itself, so there it is the cookie, which a page sends anyway, or the header `stampede-sign-in`.
 */

import { boundToNetwork, boundToSignIn, type TicketBinding } from '../admission/ticket-binding.ts'
import { bearerOf } from './http/exchange.ts'
import { cookieOf } from './identity.ts'

export interface TicketBindings {
  /** Of a ticket that this request fetches. */
  given(request: Request): string
  /** Of a ticket that this request shows. */
  shown(request: Request): string
}

const SIGN_IN_HEADER = 'stampede-sign-in'

/** Undefined: tickets are not bound, and the order path does nothing for it. */
export function createTicketBindings(
  binding: TicketBinding,
  addressOf: (request: Request) => string,
  trusts: (request: Request) => boolean,
): TicketBindings | undefined {
  if (binding === 'off') return undefined
  if (binding === 'prefix') {
    const network = (request: Request) => boundToNetwork(addressOf(request))
    return { given: network, shown: network }
  }
  return {
    given: request => boundToSignIn(bearerOf(request) ?? cookieOf(request, trusts)),
    shown: request => boundToSignIn(request.headers.get(SIGN_IN_HEADER) ?? cookieOf(request, trusts)),
  }
}
