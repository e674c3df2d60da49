/**
 * The tabs of this browser: one of them asks at a time, and shares its result with the others. Locks are the browser's (HTTPS and localhost);
 * elsewhere an entry in its storage that expires when its tab is gone. A lock that fails only costs a second request: the server gives the
 * same attempt the same order.
 */

import type { Order } from '../shapes.ts'

type TabMessage =
  | { readonly kind: 'sending'; readonly item: string }
  | { readonly kind: 'order'; readonly order: Order }
  /** The browser's cookie is another one now. */
  | { readonly kind: 'session' }

const LAPSES_MS = 4_000
const RENEW_MS = 1_000
const POLL_MS = 200
const SETTLE_MS = 50

const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('stampede')

export function publish(message: TabMessage): void {
  channel?.postMessage(message)
}

export function onTabMessage(listen: (message: TabMessage) => void): void {
  channel?.addEventListener('message', event => listen(event.data as TabMessage))
}

/** Runs while no other tab runs the same, or answers `taken` at once. */
export async function alone<T>(name: string, run: () => Promise<T>): Promise<T | 'taken'> {
  if (navigator.locks === undefined) return aloneByStorage(name, run)
  return navigator.locks.request(`stampede.${name}`, { ifAvailable: true }, lock => (lock === null ? 'taken' : run()))
}

/** Resolves when no tab runs it, however that tab ended. */
export async function whenFree(name: string): Promise<void> {
  if (navigator.locks === undefined) {
    while (heldUntilMs(name) > Date.now()) await sleep(POLL_MS)
    return
  }
  await navigator.locks.request(`stampede.${name}`, async () => {})
}

async function aloneByStorage<T>(name: string, run: () => Promise<T>): Promise<T | 'taken'> {
  if (heldUntilMs(name) > Date.now()) return 'taken'
  const mine = `${Math.random()}`
  const hold = () => localStorage.setItem(keyOf(name), `${Date.now() + LAPSES_MS} ${mine}`)
  hold()
  // Two tabs may both have found it free: the one that wrote last has the lock.
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
