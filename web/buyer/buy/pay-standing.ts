/**
 * What an unpaid order says about paying, from its newest payment. Pure.
 *
 * fresh      nothing was begun here
 * code       a code is open: it can be scanned
 * checking   the buyer is back, or the money is: the news may come at any moment
 * declined   the provider has refused the last try
 * expired    the payment ended without money
 * not_paid   the buyer is back, and nothing has arrived for as long as one waits
 */

import type { Order } from '../shapes.ts'

type PayStanding = 'fresh' | 'code' | 'checking' | 'declined' | 'expired' | 'not_paid'

/** How long after the buyer's return from the pay page its result is expected. */
export const PAYING_FOR_MS = 20_000

/** `backForMs`: since the buyer has come back from the pay page; undefined: did not leave for it. */
export function payStanding(payment: Order['payment'], backForMs: number | undefined): PayStanding {
  const waited = backForMs === undefined ? 'fresh' : backForMs < PAYING_FOR_MS ? 'checking' : 'not_paid'
  switch (payment?.state) {
    case undefined:
      return waited
    case 'started':
      return payment.qr === undefined ? waited : 'code'
    case 'declined':
    case 'expired':
      return payment.state
    case 'captured':
    case 'refunded':
      return 'checking'
  }
}
