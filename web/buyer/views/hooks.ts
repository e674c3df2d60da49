/** Hooks of the views: the store, moments by the server's clock, announcements and focus. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { store } from '../store.ts'
import { serverNow } from '../sync/server-time.ts'

const TIMER_MS_MAX = 60_000

export function useStore(): typeof store {
  const [, again] = useState(0)
  // Before the screen is painted: a change in between must not be missed.
  useLayoutEffect(() => store.subscribe(() => again(count => count + 1)), [])
  return store
}

/** Renders again at `momentMs`; does nothing when that is past or not finite. */
export function useMoment(momentMs: number): void {
  const [round, again] = useState(0)
  const toCome = Number.isFinite(momentMs) && momentMs > serverNow()
  // A distant moment is reached in rounds: timers are limited to 24 days and stop while a device sleeps. The timer is set before the screen
  // is painted; a moment that has passed since the clock was read fires at once.
  useLayoutEffect(() => {
    if (!toCome) return
    const waitMs = Math.max(0, momentMs - serverNow())
    const timer = setTimeout(() => again(count => count + 1), Math.min(waitMs, TIMER_MS_MAX))
    return () => clearTimeout(timer)
  }, [momentMs, toCome, round])
}

/** Milliseconds left until a moment. Renders again exactly when each whole second has passed. */
export function useLeft(targetMs: number): number {
  const leftMs = Math.max(0, targetMs - serverNow())
  useMoment(leftMs === 0 ? Number.NEGATIVE_INFINITY : targetMs - (Math.ceil(leftMs / 1000) - 1) * 1000)
  return leftMs
}

let announcement = ''
const listeners = new Set<() => void>()

/** Read out by screen readers, once, after what they are reading. */
export function announce(text: string): void {
  // Screen readers only read a change: a repeated sentence gets an inaudible space.
  announcement = text === announcement ? `${text}\u00a0` : text
  for (const listen of listeners) listen()
}

export function useAnnouncement(): string {
  const [, again] = useState(0)
  useEffect(() => {
    const listen = () => again(count => count + 1)
    listeners.add(listen)
    return () => void listeners.delete(listen)
  }, [])
  return announcement
}

/**
 * When the focused element inside `container` disappears, the focus moves to the successor in it instead of the page's beginning. Does
 * nothing while there is no successor.
 */
export function useFocusSuccessor(container: { readonly current: HTMLElement | null }, successor: string): void {
  // During rendering, the element that will be removed is still there.
  const had = container.current?.contains(document.activeElement) ?? false
  useLayoutEffect(() => {
    if (!had || document.activeElement !== document.body) return
    container.current?.querySelector<HTMLElement>(successor)?.focus({ preventScroll: true })
  })
}

/** The previous value. */
export function usePrevious<T>(value: T): T | undefined {
  const kept = useRef<{ now: T; before: T | undefined }>({ now: value, before: undefined })
  if (kept.current.now !== value) kept.current = { now: value, before: kept.current.now }
  return kept.current.before
}
