/**
 * The right to try: a signed ticket for one buyer, item and attempt. From the warm-up on, also when it is sold out (units return).
 * With a live order the ticket carries that order's attempt, so that asking again finds it; after a closed one the next attempt.
 */

import type { TicketClaims } from '../../admission/ticket.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { LiveItem } from './live-item.ts'

type GiveTicketOutcome =
  | { readonly kind: 'given'; readonly terms: Pick<TicketClaims, 'attempt' | 'notBeforeMs' | 'expiresAtMs'> }
  | { readonly kind: 'attempts_used' | 'over' | 'busy' }
  | { readonly kind: 'early'; readonly opensAtMs: number }

/** @param nowMs by the gate's clock */
export async function giveTicket(
  sale: Sale,
  live: LiveItem | undefined,
  buyer: BuyerId,
  nowMs: number,
): Promise<GiveTicketOutcome> {
  if (sale.state === 'over' || nowMs >= sale.closesAtMs) return { kind: 'over' }
  if (live === undefined) {
    const warm = nowMs >= sale.opensAtMs - sale.warmBeforeMs
    return warm ? { kind: 'busy' } : { kind: 'early', opensAtMs: sale.opensAtMs }
  }
  const held = await live.seller.find(buyer)
  if (held === 'unknown') return { kind: 'busy' }
  const attempt = held.find(one => one.live)?.attempt ?? 1 + held.reduce((last, one) => Math.max(last, one.attempt), 0)
  if (attempt > live.item.attemptsMax) return { kind: 'attempts_used' }
  return { kind: 'given', terms: { attempt, notBeforeMs: sale.opensAtMs, expiresAtMs: sale.closesAtMs } }
}
