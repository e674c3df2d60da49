/** Reads sales and orders into the store. Each call also updates whether the server is reachable and what does not exist. */

import { getJson, type Reply } from '../api.ts'
import type { Order, Sale } from '../shapes.ts'
import { store } from '../store.ts'
import { findSession } from './session.ts'

const PAGE = 20

/** Every answer shows whether the server is reachable and the session valid. */
export function noteReply(reply: Reply<unknown>): void {
  const reachable = reply.kind !== 'lost'
  if (store.reachable !== reachable) {
    store.reachable = reachable
    store.changed()
  }
  if (reply.kind === 'refused' && reply.code === 'unauthenticated') void findSession()
}

async function read<T>(path: string): Promise<Reply<T>> {
  const reply = await getJson<T>(path)
  noteReply(reply)
  return reply
}

export async function loadSales(): Promise<void> {
  const sentMs = performance.now()
  const reply = await read<{ sales: readonly Sale[] }>('/api/sales')
  if (reply.kind !== 'ok') return
  for (const sale of reply.body.sales) store.putPolled(store.withTexts(sale), sentMs)
  store.listed = reply.body.sales.map(sale => sale.id)
  store.changed()
}

export async function loadSale(id: string): Promise<void> {
  const sentMs = performance.now()
  const reply = await read<Sale>(`/api/sales/${encodeURIComponent(id)}`)
  if (reply.kind === 'ok') store.putPolled(reply.body, sentMs)
  else if (reply.kind === 'refused' && reply.code === 'not_found') store.miss(id)
}

export async function loadOrders(older = false): Promise<void> {
  if (store.session.kind !== 'in') return
  const after = older && store.ordersNext !== null ? `&after=${encodeURIComponent(store.ordersNext)}` : ''
  const sentMs = performance.now()
  const reply = await read<{ orders: readonly Order[]; next: string | null }>(`/api/orders?limit=${PAGE}${after}`)
  if (reply.kind !== 'ok') return
  for (const order of reply.body.orders) store.putOrder(order, sentMs)
  // Reading the newest page again must not move the cursor of a buyer who has read further back.
  if (older || !store.ordersLoaded) store.ordersNext = reply.body.next
  store.ordersLoaded = true
  store.changed()
}

export async function loadOrder(id: string): Promise<void> {
  if (store.session.kind !== 'in') return
  const sentMs = performance.now()
  // Back from the pay page: the provider is asked, so that the result is seen at once.
  const asks = store.paying.has(id) ? '?payment=ask' : ''
  const reply = await read<Order>(`/api/orders/${encodeURIComponent(id)}${asks}`)
  if (reply.kind === 'ok') store.putOrder(reply.body, sentMs)
  else if (reply.kind === 'refused' && reply.code === 'not_found') store.miss(id)
}
