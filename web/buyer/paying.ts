/** Paying and cancelling. Paying leaves for the provider's page and comes back to the order's own; nothing is paid twice by asking twice. */

import { call, type Reply } from './api.ts'
import { loadOrder, noteReply } from './loading.ts'
import { backOffMs } from './moments.ts'
import type { Order } from './shapes.ts'
import { store } from './store.ts'
import { sleep, tell } from './tabs.ts'

export type PayOutcome = 'leaving' | 'settled' | 'failed'

const TRIES_MAX = 4
const PAYING = 'stampede.paying.'

/** Leaves for the pay page, or says why not. */
export async function pay(order: Order): Promise<PayOutcome> {
  const returnUrl = `${location.origin}/orders/${order.id}`
  const reply = await askFirmly<{ payUrl: string }>(`/api/orders/${order.id}/payment`, { returnUrl })
  if (reply.kind === 'ok') {
    const payUrl = URL.parse(reply.body.payUrl, location.href)
    if (payUrl === null || !/^https?:$/.test(payUrl.protocol)) return 'failed'
    remember(order.id)
    location.assign(payUrl.href)
    return 'leaving'
  }
  await loadOrder(order.id)
  return reply.kind === 'refused' && /^order_/.test(reply.code) ? 'settled' : 'failed'
}

export async function cancel(order: Order): Promise<'settled' | 'failed'> {
  const reply = await askFirmly<Order>(`/api/orders/${order.id}/cancel`, undefined)
  if (reply.kind === 'ok') {
    store.putOrder(reply.body)
    tell({ kind: 'order', order: reply.body })
    return 'settled'
  }
  await loadOrder(order.id)
  return reply.kind === 'refused' && reply.code === 'order_paid' ? 'settled' : 'failed'
}

/** Both calls may be sent again without a second effect. */
async function askFirmly<T>(path: string, body: unknown): Promise<Reply<T>> {
  for (let tries = 0; ; tries++) {
    const reply = await call<T>('POST', path, body === undefined ? {} : { body })
    noteReply(reply)
    const passing = reply.kind === 'lost' || (reply.kind === 'refused' && ['busy', 'not_placed'].includes(reply.code))
    if (!passing || tries + 1 >= TRIES_MAX) return reply
    await sleep(backOffMs(tries, Math.random()))
  }
}

/** Known across the way to the provider and back, so that the page can look more often for a moment. */
function remember(order: string): void {
  try {
    sessionStorage.setItem(PAYING + order, '1')
  } catch {}
}

/** Somebody has come back from a pay page: its answer may be a moment behind. */
export function backFromPaying(): void {
  try {
    for (const key of Object.keys(sessionStorage)) {
      if (!key.startsWith(PAYING)) continue
      store.paying.set(key.slice(PAYING.length), performance.now())
      sessionStorage.removeItem(key)
    }
  } catch {}
}
