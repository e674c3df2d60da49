/** What views react to: the store, and moments by the server's clock. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { serverNow } from '../server-time.ts'
import { store } from '../store.ts'

const TIMER_MS_MAX = 60_000

export function useStore(): typeof store {
  const [, again] = useState(0)
  // Before the screen is painted: an answer that comes in between must not go unseen.
  useLayoutEffect(() => store.subscribe(() => again(count => count + 1)), [])
  return store
}

/** Shows again at `momentMs`; nothing happens for one that was past when it was shown, or never comes. */
export function useMoment(momentMs: number): void {
  const [round, again] = useState(0)
  const toCome = Number.isFinite(momentMs) && momentMs > serverNow()
  // A far moment is reached in rounds: browsers count no further than 24 days, and a sleeping device not at all. The timer is set before
  // the screen is painted; whatever has become due since the look at the clock is due at once, not forgotten.
  useLayoutEffect(() => {
    if (!toCome) return
    const waitMs = Math.max(0, momentMs - serverNow())
    const timer = setTimeout(() => again(count => count + 1), Math.min(waitMs, TIMER_MS_MAX))
    return () => clearTimeout(timer)
  }, [momentMs, toCome, round])
}

/** Milliseconds left until a moment, shown again each time a whole second of it has gone: on the beat, not somewhere after it. */
export function useLeft(targetMs: number): number {
  const leftMs = Math.max(0, targetMs - serverNow())
  useMoment(leftMs === 0 ? Number.NEGATIVE_INFINITY : targetMs - (Math.ceil(leftMs / 1000) - 1) * 1000)
  return leftMs
}

let said = ''
const hearing = new Set<() => void>()

/** Read out by screen readers, once, when they have finished what they are saying. */
export function say(text: string): void {
  // They only hear a change: the same sentence again differs by a space that nobody hears.
  said = text === said ? `${text}\u00a0` : text
  for (const hear of hearing) hear()
}

export function useSaid(): string {
  const [, again] = useState(0)
  useEffect(() => {
    const hear = () => again(count => count + 1)
    hearing.add(hear)
    return () => void hearing.delete(hear)
  }, [])
  return said
}

/**
 * When whatever had the focus inside `place` is shown no more, the focus goes on at the heir there instead of falling to the page's
 * beginning. Nothing happens while there is no heir.
 */
export function useFocusHeir(place: { readonly current: HTMLElement | null }, heir: string): void {
  // What is about to be taken away is still there while it is decided what to show.
  const had = place.current?.contains(document.activeElement) ?? false
  useLayoutEffect(() => {
    if (!had || document.activeElement !== document.body) return
    place.current?.querySelector<HTMLElement>(heir)?.focus({ preventScroll: true })
  })
}

/** The value of the time before. */
export function usePrevious<T>(value: T): T | undefined {
  const kept = useRef<{ now: T; before: T | undefined }>({ now: value, before: undefined })
  if (kept.current.now !== value) kept.current = { now: value, before: kept.current.now }
  return kept.current.before
}
