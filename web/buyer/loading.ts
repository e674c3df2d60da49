/** Reading sales and orders into the store. Each tells whether the server could be reached, and who is gone. */

import { getJson, type Reply } from './api.ts'
import { findSession } from './session.ts'
import type { Order, Sale } from './shapes.ts'
import { store } from './store.ts'

const PAGE = 20

/** Every answer says something about the connection. */
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
  for (const sale of reply.body.sales) store.putLook(sale, sentMs)
  store.listed = reply.body.sales.map(sale => sale.id)
  store.changed()
}

export async function loadSale(id: string): Promise<void> {
  const sentMs = performance.now()
  const reply = await read<Sale>(`/api/sales/${encodeURIComponent(id)}`)
  if (reply.kind === 'ok') store.putLook(reply.body, sentMs)
  else if (reply.kind === 'refused' && reply.code === 'not_found') miss(id)
}

export async function loadOrders(older = false): Promise<void> {
  if (store.session.kind !== 'in') return
  const after = older && store.ordersNext !== null ? `&after=${encodeURIComponent(store.ordersNext)}` : ''
  const reply = await read<{ orders: readonly Order[]; next: string | null }>(`/api/orders?limit=${PAGE}${after}`)
  if (reply.kind !== 'ok') return
  for (const order of reply.body.orders) store.putOrder(order)
  // A fresh look at the newest page must not send somebody who has read further back to its end.
  if (older || !store.ordersLoaded) store.ordersNext = reply.body.next
  store.ordersLoaded = true
  store.changed()
}

export async function loadOrder(id: string): Promise<void> {
  if (store.session.kind !== 'in') return
  const reply = await read<Order>(`/api/orders/${encodeURIComponent(id)}`)
  if (reply.kind === 'ok') store.putOrder(reply.body)
  else if (reply.kind === 'refused' && reply.code === 'not_found') miss(id)
}

function miss(id: string): void {
  store.missing.add(id)
  store.changed()
}
