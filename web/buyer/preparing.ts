/**
 * Gets the ticket before it is needed, at a random moment, so that the opening is not a second stampede. Once the sale is open, at once:
 * whoever comes then came alone. Not for what is sold out: most who wait there never need one.
 */

import { ticketFor, usableTicket } from './buying.ts'
import { backOffMs, ticketMomentMs } from './moments.ts'
import { serverNow, serverTimeKnown } from './server-time.ts'
import type { Sale } from './shapes.ts'
import { store } from './store.ts'

const TIMER_MS_MAX = 2 ** 31 - 1
/** Of a sale with many items nobody buys all: the others get theirs when they are pressed. */
const ITEMS_MAX = 6

interface Prepared {
  readonly opensAt: string
  readonly timer: ReturnType<typeof setTimeout>
}

const prepared = new Map<string, Prepared>()

/** May be called as often as one likes: what is arranged stays as it is. */
export function prepareTickets(sale: Sale): void {
  if (store.session.kind !== 'in' || !store.ordersLoaded || !serverTimeKnown()) return
  const opensAtMs = Date.parse(sale.opensAt)
  for (const { id: item, left } of sale.items.slice(0, ITEMS_MAX)) {
    const known = prepared.get(item)
    if (known !== undefined && known.opensAt !== sale.opensAt) cancel(item)
    const order = store.orderOf(item)
    const wanted = sale.state !== 'over' && (order === undefined || order.state === 'closed') && left > 0
    if (!wanted || prepared.has(item)) continue
    if (usableTicket(item) !== undefined) {
      if (!store.ready(item)) store.setReady(item, true)
      continue
    }
    const warmAtMs = opensAtMs - (sale.warmBeforeSeconds ?? 0) * 1000
    arrange(sale, item, ticketMomentMs(serverNow(), warmAtMs, opensAtMs, Math.random()), 0)
  }
}

function arrange(sale: Sale, item: string, atMs: number, tries: number): void {
  const waitMs = Math.min(TIMER_MS_MAX, Math.max(0, atMs - serverNow()))
  prepared.set(item, { opensAt: sale.opensAt, timer: setTimeout(() => void fetchOne(sale, item, tries), waitMs) })
}

async function fetchOne(sale: Sale, item: string, tries: number): Promise<void> {
  const reply = await ticketFor(sale.id, item)
  if (!prepared.has(item)) return
  const again =
    reply.kind === 'lost' ||
    (reply.kind === 'refused' && ['rate_limited', 'busy', 'sale_not_open', 'unknown'].includes(reply.code))
  if (!again) return cancel(item)
  const askedToWaitMs = reply.kind === 'refused' ? (reply.retryAfterMs ?? 0) : 0
  arrange(sale, item, serverNow() + askedToWaitMs + backOffMs(tries + 2, Math.random()), tries + 1)
}

function cancel(item: string): void {
  clearTimeout(prepared.get(item)?.timer)
  prepared.delete(item)
}
