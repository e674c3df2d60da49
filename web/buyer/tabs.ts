/**
 * The other tabs of this browser: one of them asks at a time, and what one learns the others hear. Locks are the browser's where it has
 * them (HTTPS and localhost); elsewhere a line in its storage that lapses when its tab is gone. A lock that fails only costs a second
 * request: the server gives the same attempt the same order.
 */

import type { Order } from './shapes.ts'

type News = { readonly kind: 'sending'; readonly item: string } | { readonly kind: 'order'; readonly order: Order }

const LAPSES_MS = 4_000
const RENEW_MS = 1_000
const LOOK_MS = 200
const SETTLE_MS = 50

const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('stampede')

export function tell(news: News): void {
  channel?.postMessage(news)
}

export function hearTabs(hear: (news: News) => void): void {
  channel?.addEventListener('message', event => hear(event.data as News))
}

/** Runs while no other tab runs the same, or answers `taken` at once. */
export async function alone<T>(name: string, run: () => Promise<T>): Promise<T | 'taken'> {
  if (navigator.locks === undefined) return aloneByStorage(name, run)
  return navigator.locks.request(`stampede.${name}`, { ifAvailable: true }, lock => (lock === null ? 'taken' : run()))
}

/** Resolves when no tab runs it, however that tab came to its end. */
export async function whenFree(name: string): Promise<void> {
  if (navigator.locks === undefined) {
    while (heldUntilMs(name) > Date.now()) await sleep(LOOK_MS)
    return
  }
  await navigator.locks.request(`stampede.${name}`, async () => {})
}

async function aloneByStorage<T>(name: string, run: () => Promise<T>): Promise<T | 'taken'> {
  if (heldUntilMs(name) > Date.now()) return 'taken'
  const mine = `${Math.random()}`
  const hold = () => localStorage.setItem(keyOf(name), `${Date.now() + LAPSES_MS} ${mine}`)
  hold()
  // Two tabs may both have seen it free: the one that wrote last has it.
  await sleep(SETTLE_MS)
  if (!localStorage.getItem(keyOf(name))?.endsWith(mine)) return 'taken'
  const renewing = setInterval(hold, RENEW_MS)
  try {
    return await run()
  } finally {
    clearInterval(renewing)
    localStorage.removeItem(keyOf(name))
  }
}

const keyOf = (name: string) => `stampede.lock.${name}`

function heldUntilMs(name: string): number {
  return Number(localStorage.getItem(keyOf(name))?.split(' ')[0] ?? 0)
}

export function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
