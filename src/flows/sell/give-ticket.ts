/**
 * The right to try: a signed ticket for one buyer, item and attempt. From the warm-up on, also when it is sold out (units return).
 * With a live order the ticket carries that order's attempt, so that asking again finds it; after a closed one the next attempt.
 */

import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { LiveItem } from './live-item.ts'

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
  readonly near: LocalView
  readonly orders: Pick<Orders, 'list'>
}

const PAGE = 100

export async function giveTicket(
  parts: GiveTicketParts,
  sale: Sale,
  liveItem: LiveItem | undefined,
  buyer: BuyerId,
): Promise<GiveTicketOutcome> {
  if (sale.state === 'over' || parts.near.nowMs() >= sale.closesAtMs) return { kind: 'over' }
  if (liveItem === undefined) {
    const warm = parts.near.nowMs() >= sale.opensAtMs - sale.warmBeforeMs
    return warm ? { kind: 'busy' } : { kind: 'early', opensAtMs: sale.opensAtMs }
  }
  const made = await attemptsOf(parts, liveItem, buyer)
  if (made === undefined) return { kind: 'busy' }
  const live = made.find(one => one.live)
  const attempt = live?.attempt ?? 1 + made.reduce((last, one) => Math.max(last, one.attempt), 0)
  if (attempt > liveItem.item.attemptsMax) return { kind: 'attempts_used' }
  return { kind: 'given', terms: { attempt, notBeforeMs: sale.opensAtMs, expiresAtMs: sale.closesAtMs } }
}

/** By the gate's books, or behind the ledger's door by the ledger's. Undefined: they can't be read now. */
async function attemptsOf(
  parts: GiveTicketParts,
  liveItem: LiveItem,
  buyer: BuyerId,
): Promise<readonly { readonly attempt: number; readonly live: boolean }[] | undefined> {
  const item = liveItem.item.id
  if (liveItem.door !== 'ledger') {
    const found = await parts.gate.find(item, buyer)
    return found.status === 'ok' ? found.holdings : undefined
  }
  const made: { readonly attempt: number; readonly live: boolean }[] = []
  for (let after: OrderId | undefined; ; ) {
    const page = await parts.orders.list({
      sale: liveItem.sale.id,
      buyer,
      limit: PAGE,
      ...(after !== undefined && { after }),
    })
    // A refused order is no attempt.
    for (const order of page)
      if (order.item === item && order.reason !== 'refused')
        made.push({ attempt: order.attempt, live: order.state !== 'closed' })
    if (page.length < PAGE) return made
    after = page.at(-1)!.id
  }
}
