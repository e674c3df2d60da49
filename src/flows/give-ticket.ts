/**
 * The right to try: a signed ticket for one buyer, item and attempt. From the warm-up on, also when it is sold out (units return).
 * With a live order the ticket carries that order's attempt, so that asking again finds it; after a closed one the next attempt.
 */

import type { BuyerId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'
import type { Gate } from '../gate/gate.ts'
import type { NearGate } from '../gate/near.ts'
import type { OnSale } from './on-sale.ts'

interface TicketTerms {
  readonly attempt: number
  readonly notBeforeMs: number
  readonly expiresAtMs: number
}

type GiveTicketOutcome =
  | { readonly kind: 'given'; readonly terms: TicketTerms }
  | { readonly kind: 'attempts_used' }
  | { readonly kind: 'early'; readonly opensAtMs: number }
  | { readonly kind: 'over' }
  | { readonly kind: 'busy' }

interface GiveTicketParts {
  readonly gate: Gate
  readonly near: NearGate
}

export async function giveTicket(
  parts: GiveTicketParts,
  sale: Sale,
  onSale: OnSale | undefined,
  buyer: BuyerId,
): Promise<GiveTicketOutcome> {
  if (sale.state === 'over' || parts.near.nowMs() >= sale.closesAtMs) return { kind: 'over' }
  if (onSale === undefined) {
    const warm = parts.near.nowMs() >= sale.opensAtMs - sale.warmBeforeMs
    return warm ? { kind: 'busy' } : { kind: 'early', opensAtMs: sale.opensAtMs }
  }
  const found = await parts.gate.find(onSale.item.id, buyer)
  if (found.status !== 'ok') return { kind: 'busy' }
  const live = found.holdings.find(holding => holding.live)
  const attempt = live?.attempt ?? 1 + found.holdings.reduce((last, holding) => Math.max(last, holding.attempt), 0)
  if (attempt > onSale.item.attemptsMax) return { kind: 'attempts_used' }
  return { kind: 'given', terms: { attempt, notBeforeMs: sale.opensAtMs, expiresAtMs: sale.closesAtMs } }
}
