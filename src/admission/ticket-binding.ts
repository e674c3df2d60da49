/**
 * What a ticket is bound to beyond what it says, by setting: the sign-in that fetched it, or the network it was fetched from. Shown elsewhere it is no
 * ticket. The binding is a text that goes into the ticket's MAC and not into the ticket (`ticket.ts`), so tickets look the same with and
 * without it, and no store is needed.
 */

import { createHash } from 'node:crypto'
import { networkOf } from './networks.ts'
import { BINDING_LENGTH_MAX } from './ticket.ts'

export const TICKET_BINDINGS = ['off', 'sign-in', 'prefix'] as const
export type TicketBinding = (typeof TICKET_BINDINGS)[number]

/** Never the binding of a ticket that was given out. */
const NONE = '-'

/** @param token of the sign-in; undefined: the request shows none */
export function boundToSignIn(token: string | undefined): string {
  return token === undefined ? NONE : createHash('sha256').update(token).digest('base64url')
}

/** @param address as `client-address.ts` writes it */
export function boundToNetwork(address: string): string {
  // A peer that is no address has a name of the server's own making, and is a network of its own.
  return (networkOf(address) ?? address).slice(0, BINDING_LENGTH_MAX) || NONE
}
