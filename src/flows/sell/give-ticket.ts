/**
 * The right to try: a signed ticket for one buyer, item and attempt, from the moment that the sale's terms say, also when it is sold out
 * (units return).
 * With a live order the ticket carries that order's attempt, so that asking again finds it; after a closed one the next attempt. What the
 * gate holds may be closed in the ledger already: the ledger's answer wins. `busy`: it can't be told now.
 */

import type { TicketClaims } from '../../admission/ticket.ts'
import { onFault } from '../../base/fault.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import { type Sale, ticketsFromMs } from '../../domain/sale.ts'
import type { LiveItem } from './live-item.ts'
import { existingOrder } from './repeat-order.ts'
import type { SellContext } from './sell-context.ts'

type GiveTicketOutcome =
  | {
      readonly kind: 'given'
      readonly terms: Pick<TicketClaims, 'attempt' | 'notBeforeMs' | 'expiresAtMs'>
      /** The attempt has an order already: its buyer is never asked for more. */
      readonly holds: boolean
    }
  | { readonly kind: 'attempts_used' | 'hold_limit' | 'over' | 'busy' }
  | { readonly kind: 'early'; readonly opensAtMs: number }

/** @param nowMs by the gate's clock */
export async function giveTicket(
  context: SellContext,
  sale: Sale,
  live: LiveItem | undefined,
  buyer: BuyerId,
  nowMs: number,
): Promise<GiveTicketOutcome> {
  if (sale.state === 'over' || nowMs >= sale.closesAtMs) return { kind: 'over' }
  // A sale may be warm earlier than the copy of it that is asked here says.
  const early = nowMs < ticketsFromMs(sale) && (live === undefined || sale.ticketsBeforeMs !== undefined)
  if (early) return { kind: 'early', opensAtMs: sale.opensAtMs }
  if (live === undefined) return { kind: 'busy' }
  const found = await attemptOf(context, live, buyer)
  if (found === undefined) return { kind: 'busy' }
  const { attempt, holds } = found
  if (attempt > live.item.attemptsMax) return { kind: 'attempts_used' }
  if (!holds && attempt > (sale.holds?.attemptsUnpaid ?? attempt)) {
    // A later attempt may also follow an order that was paid and refunded: only the ledger knows.
    const orders = await onFault(() => context.finder.ofBuyer(live.item.id, buyer))
    if (orders === undefined) return { kind: 'busy' }
    if (orders.some(endedUnpaid)) return { kind: 'hold_limit' }
  }
  return { kind: 'given', terms: { attempt, notBeforeMs: sale.opensAtMs, expiresAtMs: sale.closesAtMs }, holds }
}

function endedUnpaid({ state, reason }: Order): boolean {
  return state === 'closed' && (reason === 'unpaid' || reason === 'cancelled')
}

async function attemptOf(context: SellContext, live: LiveItem, buyer: BuyerId) {
  const held = await live.seller.find(buyer)
  if (held === 'unknown') return undefined
  const next = 1 + held.reduce((last, one) => Math.max(last, one.attempt), 0)
  const standing = held.find(one => one.live)
  if (standing === undefined) return { attempt: next, holds: false }
  // Read together with the ledger's row.
  if (standing.row !== undefined) return { attempt: standing.attempt, holds: true }
  const existing = await existingOrder(context, live, buyer, standing.order)
  if (existing.kind === 'busy') return undefined
  // A refused order is no attempt: the same one is free again.
  const closed = existing.kind === 'same' && existing.order.state === 'closed'
  const used = closed && existing.order.reason !== 'refused'
  return { attempt: used ? next : standing.attempt, holds: !closed }
}
