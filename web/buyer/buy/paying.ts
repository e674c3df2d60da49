/**
 * Paying and cancelling. Paying leads to the provider's page and back to the order's page, or to a code that is shown on this one. Both calls
 * are idempotent.
 */

import { call, type Reply } from '../api.ts'
import type { Order, PaymentStarted } from '../shapes.ts'
import { store } from '../store.ts'
import { loadOrder, noteReply } from '../sync/loading.ts'
import { backOffMs } from '../sync/moments.ts'
import type { PayChoice } from './pay-choices.ts'
import { publish, sleep } from './tabs.ts'
import { webAddress } from './web-address.ts'

export type PayOutcome = 'leaving' | 'code' | 'settled' | 'failed' | 'refused' | 'used' | 'unavailable' | 'contact'

const TRIES_MAX = 4
const PAYING = 'stampede.paying.'

/** Opens the pay page or gets the code, or returns why not. Without a choice the server's default is taken. */
export async function pay(order: Order, choice: PayChoice | undefined): Promise<PayOutcome> {
  const reply = await callWithRetries<PaymentStarted>(`/api/orders/${order.id}/payment`, {
    returnUrl: `${location.origin}/orders/${order.id}`,
    ...(choice !== undefined && { provider: choice.provider, method: choice.method }),
  })
  if (reply.kind === 'ok') {
    const { provider, method, payUrl, qr } = reply.body
    const page = webAddress(payUrl)
    if (qr === undefined && page === undefined) return 'failed'
    store.putPayment(order.id, { provider, method, state: 'started', ...(qr !== undefined && { qr }) }, page)
    if (qr !== undefined || page === undefined) return 'code'
    rememberPaying(order.id)
    location.assign(page)
    return 'leaving'
  }
  await loadOrder(order.id)
  if (reply.kind !== 'refused') return 'failed'
  if (reply.code === 'payments_used') return 'used'
  if (reply.code === 'contact_missing') return 'contact'
  if (reply.code === 'payment_refused') return 'refused'
  if (reply.code === 'no_payment_provider') return 'unavailable'
  return /^order_/.test(reply.code) ? 'settled' : 'failed'
}

export async function cancel(order: Order): Promise<'settled' | 'failed'> {
  const reply = await callWithRetries<Order>(`/api/orders/${order.id}/cancel`, undefined)
  if (reply.kind === 'ok') {
    store.putOrder(reply.body)
    publish({ kind: 'order', order: reply.body })
    return 'settled'
  }
  await loadOrder(order.id)
  return reply.kind === 'refused' && reply.code === 'order_paid' ? 'settled' : 'failed'
}

/** Repeats the call while the failure is a passing one. */
async function callWithRetries<T>(path: string, body: unknown): Promise<Reply<T>> {
  for (let tries = 0; ; tries++) {
    const reply = await call<T>('POST', path, body === undefined ? {} : { body })
    noteReply(reply)
    const passing = reply.kind === 'lost' || (reply.kind === 'refused' && ['busy', 'not_placed'].includes(reply.code))
    if (!passing || tries + 1 >= TRIES_MAX) return reply
    await sleep(backOffMs(tries, Math.random()))
  }
}

/** Kept across the visit to the provider, so that the page polls more often afterwards. */
function rememberPaying(order: string): void {
  try {
    sessionStorage.setItem(PAYING + order, '1')
  } catch {}
}

/** The buyer has come back from the pay page: the payment's result may arrive a moment later. */
export function backFromPaying(): void {
  try {
    for (const key of Object.keys(sessionStorage)) {
      if (!key.startsWith(PAYING)) continue
      store.paying.set(key.slice(PAYING.length), performance.now())
      sessionStorage.removeItem(key)
    }
  } catch {}
}
