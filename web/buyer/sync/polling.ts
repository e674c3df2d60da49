/**
 * Keeps the screen up to date: polls the sale and the buyer's orders, rarely while the live connection works, often while it does not, and
 * not at all while the tab is hidden. Every pause is randomly longer or shorter, so that pages do not poll in step.
 */

import { PAYING_FOR_MS, payStanding } from '../buy/pay-standing.ts'
import { prefetchTickets } from '../buy/ticket-prefetch.ts'
import { currentRoute } from '../route.ts'
import type { Order, Sale } from '../shapes.ts'
import { store } from '../store.ts'
import { liveConnected } from './live.ts'
import { loadOrder, loadOrders, loadSale, loadSales } from './loading.ts'
import { aboutMs } from './moments.ts'
import { measureServerTime, serverNow, serverTimeMeasured } from './server-time.ts'

const SLOW_MS = 30_000
const BEFORE_OPENING_MS = 15_000
const FAST_MS = 2_000
const PAUSED_MS = 5_000
const PAYING_MS = 1_000
const RESERVED_MS = 700
/** A code is shown: it may be scanned at any moment. */
const CODE_MS = 5_000
const TIME_EVERY_MS = 60_000

const pauses = new Set<Pause>()

interface Pause {
  wake(): void
  /** The state has changed: the pause may have become shorter. */
  shorten(): void
}

/** How often `pollNow` was called. */
let calls = 0

/** Reads everything again now; what is being read at this moment is read once more. */
export function pollNow(): void {
  calls += 1
  for (const pause of pauses) pause.wake()
}

export function startPolling(): void {
  store.subscribe(() => {
    for (const pause of pauses) pause.shorten()
  })
  void repeat(pollSales, salesEveryMs)
  void repeat(pollOrders, ordersEveryMs)
  void repeat(
    () => measureServerTime(1),
    () => (serverTimeMeasured() ? TIME_EVERY_MS : FAST_MS),
  )
}

async function repeat(poll: () => Promise<void>, everyMs: () => number): Promise<never> {
  for (;;) {
    const before = calls
    if (!document.hidden && store.online) await poll()
    if (calls === before) await sleepAbout(everyMs)
  }
}

function sleepAbout(everyMs: () => number): Promise<void> {
  const chance = Math.random()
  const fromMs = performance.now()
  return new Promise(resolve => {
    let dueMs = Number.POSITIVE_INFINITY
    let timer: ReturnType<typeof setTimeout> | undefined
    const pause: Pause = {
      wake() {
        clearTimeout(timer)
        pauses.delete(pause)
        resolve()
      },
      shorten() {
        const soonerMs = fromMs + aboutMs(everyMs(), chance)
        if (soonerMs >= dueMs) return
        dueMs = soonerMs
        clearTimeout(timer)
        timer = setTimeout(pause.wake, dueMs - performance.now())
      },
    }
    pauses.add(pause)
    pause.shorten()
  })
}

async function pollSales(): Promise<void> {
  const route = currentRoute()
  if (route.kind === 'sale') await loadSale(route.sale)
  else if (route.kind === 'home') await loadSales()
  else await Promise.all(salesOfOrders().map(loadSale))
  const current = shown().filter(sale => sale.state !== 'over')
  const [one] = current
  // On a list of several sales the buyer has not chosen yet.
  if (one !== undefined && current.length === 1) prefetchTickets(one)
}

/** Orders only name their sale by its id. */
function salesOfOrders(): string[] {
  const wanted = new Set([...store.orders.values()].map(order => order.sale))
  return [...wanted].filter(id => !store.sales.has(id) && !store.missing.has(id))
}

async function pollOrders(): Promise<void> {
  if (store.session.kind !== 'in') return
  const route = currentRoute()
  if (!store.ordersLoaded || route.kind === 'orders') await loadOrders()
  const waiting = [...store.orders.values()].filter(({ state }) => state === 'reserved' || state === 'pending')
  const ids = new Set(waiting.map(order => order.id))
  if (route.kind === 'order') ids.add(route.order)
  await Promise.all([...ids].map(loadOrder))
  if (route.kind !== 'sale' && route.kind !== 'home') await Promise.all(salesOfOrders().map(loadSale))
}

function shown(): Sale[] {
  const route = currentRoute()
  const ids = route.kind === 'sale' ? [route.sale] : route.kind === 'home' ? (store.listed ?? []) : []
  return ids.flatMap(id => store.sales.get(id) ?? [])
}

function salesEveryMs(): number {
  if (!store.reachable) return FAST_MS
  return Math.min(SLOW_MS, ...shown().map(saleEveryMs))
}

function saleEveryMs(sale: Sale): number {
  const nowMs = serverNow()
  if (sale.state === 'over') return SLOW_MS
  // The pause may be known from a refusal that arrived after the message of its end: then no further message comes.
  if (liveConnected()) return sale.state === 'paused' ? PAUSED_MS : SLOW_MS
  const opensInMs = Date.parse(sale.opensAt) - nowMs
  return opensInMs > 0 ? Math.min(BEFORE_OPENING_MS, opensInMs + FAST_MS) : FAST_MS
}

function ordersEveryMs(): number {
  let everyMs = SLOW_MS
  for (const order of store.orders.values()) {
    if (order.state === 'reserved') everyMs = Math.min(everyMs, RESERVED_MS)
    if (order.state !== 'pending') continue
    const dueInMs = Date.parse(order.payBy ?? '') - serverNow()
    if (dueInMs > 0) everyMs = Math.min(everyMs, dueInMs + PAYING_MS)
    everyMs = Math.min(everyMs, dueInMs <= 0 ? PAYING_MS : unpaidEveryMs(order))
  }
  return store.ordersLoaded ? everyMs : FAST_MS
}

function unpaidEveryMs(order: Order): number {
  const backAtMs = store.paying.get(order.id)
  const backForMs = backAtMs === undefined ? undefined : performance.now() - backAtMs
  if (backForMs !== undefined && backForMs < PAYING_FOR_MS) return PAYING_MS
  if (payStanding(order.payment, backForMs) === 'code') return liveConnected() ? CODE_MS : FAST_MS
  return liveConnected() ? BEFORE_OPENING_MS : FAST_MS * 2
}
