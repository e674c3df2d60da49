/**
 * Keeps what is on the screen true: reads the sale and the buyer's orders again and again, seldom while the live connection brings news,
 * often while it does not, and not at all while nobody looks. No two pages in step: every pause is a little longer or shorter.
 */

import { liveConnected } from './live.ts'
import { loadOrder, loadOrders, loadSale, loadSales } from './loading.ts'
import { aboutMs } from './moments.ts'
import { prepareTickets } from './preparing.ts'
import { currentRoute } from './route.ts'
import { measureServerTime, serverNow } from './server-time.ts'
import type { Sale } from './shapes.ts'
import { store } from './store.ts'

const CALM_MS = 30_000
const FAR_MS = 15_000
const BUSY_MS = 2_000
const PAUSED_MS = 5_000
const PAYING_MS = 1_000
const RESERVED_MS = 700
/** How long after coming back from the pay page its result may be near. */
export const PAYING_FOR_MS = 20_000
const TIME_EVERY_MS = 60_000

const naps = new Set<Nap>()

interface Nap {
  wake(): void
  /** What is known has changed: the pause may have become shorter. */
  shorten(): void
}

/** How often it was said that everything is to be read again. */
let calls = 0

/** Everything is read again now; what is being read at this moment is read once more. */
export function lookAgain(): void {
  calls += 1
  for (const nap of naps) nap.wake()
}

export function startWatching(): void {
  store.subscribe(() => {
    for (const nap of naps) nap.shorten()
  })
  void repeat(lookAtSales, salesEveryMs)
  void repeat(lookAtOrders, ordersEveryMs)
  void repeat(
    () => measureServerTime(1),
    () => TIME_EVERY_MS,
  )
}

async function repeat(look: () => Promise<void>, everyMs: () => number): Promise<never> {
  for (;;) {
    const before = calls
    if (!document.hidden && store.online) await look()
    if (calls === before) await sleepAbout(everyMs)
  }
}

function sleepAbout(everyMs: () => number): Promise<void> {
  const chance = Math.random()
  const fromMs = performance.now()
  return new Promise(resolve => {
    let dueMs = Number.POSITIVE_INFINITY
    let timer: ReturnType<typeof setTimeout> | undefined
    const nap: Nap = {
      wake() {
        clearTimeout(timer)
        naps.delete(nap)
        resolve()
      },
      shorten() {
        const soonerMs = fromMs + aboutMs(everyMs(), chance)
        if (soonerMs >= dueMs) return
        dueMs = soonerMs
        clearTimeout(timer)
        timer = setTimeout(nap.wake, dueMs - performance.now())
      },
    }
    naps.add(nap)
    nap.shorten()
  })
}

async function lookAtSales(): Promise<void> {
  const route = currentRoute()
  if (route.kind === 'sale') await loadSale(route.sale)
  else if (route.kind === 'home') await loadSales()
  else await Promise.all(salesOfOrders().map(loadSale))
  const current = shown().filter(sale => sale.state !== 'over')
  const [one] = current
  // Whoever looks at a list has not chosen yet.
  if (one !== undefined && current.length === 1) prepareTickets(one)
}

/** Orders only name their sale by its id. */
function salesOfOrders(): string[] {
  const wanted = new Set([...store.orders.values()].map(order => order.sale))
  return [...wanted].filter(id => !store.sales.has(id) && !store.missing.has(id))
}

async function lookAtOrders(): Promise<void> {
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
  if (!store.reachable) return BUSY_MS
  return Math.min(CALM_MS, ...shown().map(saleEveryMs))
}

function saleEveryMs(sale: Sale): number {
  const nowMs = serverNow()
  if (sale.state === 'over') return CALM_MS
  // A pause can be known from a refusal that was overtaken by the news of its end: then no more news of it will come.
  if (liveConnected()) return sale.state === 'paused' ? PAUSED_MS : CALM_MS
  const opensInMs = Date.parse(sale.opensAt) - nowMs
  return opensInMs > 0 ? Math.min(FAR_MS, opensInMs + BUSY_MS) : BUSY_MS
}

function ordersEveryMs(): number {
  let everyMs = CALM_MS
  for (const order of store.orders.values()) {
    if (order.state === 'reserved') everyMs = Math.min(everyMs, RESERVED_MS)
    if (order.state !== 'pending') continue
    const dueInMs = Date.parse(order.payBy ?? '') - serverNow()
    if (dueInMs > 0) everyMs = Math.min(everyMs, dueInMs + PAYING_MS)
    const paidSoon = performance.now() - (store.paying.get(order.id) ?? Number.NEGATIVE_INFINITY) < PAYING_FOR_MS
    everyMs = Math.min(everyMs, dueInMs <= 0 || paidSoon ? PAYING_MS : liveConnected() ? FAR_MS : BUSY_MS * 2)
  }
  return store.ordersLoaded ? everyMs : BUSY_MS
}
