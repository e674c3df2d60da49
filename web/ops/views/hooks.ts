/** What views react to: the store, and the passing of time. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { store } from '../store.ts'

export function useStore(): typeof store {
  const [, again] = useState(0)
  // At once, not after the next paint: a fast answer may come before it.
  useLayoutEffect(() => store.subscribe(() => again(count => count + 1)), [])
  return store
}

/** Again and again, the next time so long after the last one has ended; not while nobody can see the page. Anew when `key` changes. */
export function useEvery(everyMs: number, key: string, run: (isCurrent: () => boolean) => Promise<unknown>): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    let current = true
    let timer: ReturnType<typeof setTimeout> | undefined
    let running = false
    const round = async () => {
      running = true
      if (!document.hidden) await latest.current(() => current)
      running = false
      if (current) timer = setTimeout(round, everyMs)
    }
    const shown = () => {
      // A round that is under way goes on by itself: a second one beside it would never end.
      if (document.hidden || running) return
      clearTimeout(timer)
      void round()
    }
    void round()
    document.addEventListener('visibilitychange', shown)
    return () => {
      current = false
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', shown)
    }
  }, [everyMs, key])
}
