/**
 * Fetches the ticket before it is needed, at a random moment, so that not all pages fetch it at the opening. Once the sale is open, it is
 * fetched at once. Not for sold-out items: most pages that wait there never need one. Where the sale has a waiting line, when
 * the buyer is let in.
 */

import type { Sale } from '../shapes.ts'
import { store } from '../store.ts'
import { backOffMs, ticketMomentMs } from '../sync/moments.ts'
import { serverNow, serverTimeKnown } from '../sync/server-time.ts'
import { ticketFor, usableTicket } from './tickets.ts'

const TIMER_MS_MAX = 2 ** 31 - 1
/** In a sale with many items, the others get their ticket when their button is pressed. */
const ITEMS_MAX = 6

interface Scheduled {
  readonly opensAt: string
  readonly timer: ReturnType<typeof setTimeout>
}

const scheduled = new Map<string, Scheduled>()

/** May be called repeatedly: tickets that are scheduled stay scheduled. */
export function prefetchTickets(sale: Sale): void {
  if (store.session.kind !== 'in' || !store.ordersLoaded || !serverTimeKnown() || store.inLine(sale)) return
  const opensAtMs = Date.parse(sale.opensAt)
  for (const { id: item, left } of sale.items.slice(0, ITEMS_MAX)) {
    const known = scheduled.get(item)
    if (known !== undefined && known.opensAt !== sale.opensAt) cancel(item)
    const order = store.orderOf(item)
    const wanted = sale.state !== 'over' && (order === undefined || order.state === 'closed') && left > 0
    if (!wanted || scheduled.has(item)) continue
    if (usableTicket(item) !== undefined) {
      if (!store.ready(item)) store.setReady(item, true)
      continue
    }
    const fromMs = opensAtMs - sale.ticketsBeforeSeconds * 1000
    schedule(sale, item, ticketMomentMs(serverNow(), fromMs, opensAtMs, Math.random()), 0)
  }
}

function schedule(sale: Sale, item: string, atMs: number, tries: number): void {
  const waitMs = Math.min(TIMER_MS_MAX, Math.max(0, atMs - serverNow()))
  scheduled.set(item, { opensAt: sale.opensAt, timer: setTimeout(() => void fetchOne(sale, item, tries), waitMs) })
}

async function fetchOne(sale: Sale, item: string, tries: number): Promise<void> {
  const reply = await ticketFor(sale.id, item)
  if (!scheduled.has(item)) return
  const again =
    reply.kind === 'lost' ||
    (reply.kind === 'refused' &&
      ['rate_limited', 'busy', 'sale_not_open', 'challenge_invalid', 'unknown'].includes(reply.code))
  if (!again) return cancel(item)
  const askedToWaitMs = reply.kind === 'refused' ? (reply.retryAfterMs ?? 0) : 0
  schedule(sale, item, serverNow() + askedToWaitMs + backOffMs(tries + 2, Math.random()), tries + 1)
}

function cancel(item: string): void {
  clearTimeout(scheduled.get(item)?.timer)
  scheduled.delete(item)
}
