/** Hooks of the views: the store, and polling. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { store } from '../../store.ts'

export function useStore(): typeof store {
  const [, again] = useState(0)
  // Before the next paint: a fast answer must not be missed.
  useLayoutEffect(() => store.subscribe(() => again(count => count + 1)), [])
  return store
}

/** Runs repeatedly, `everyMs` after the last run has ended; not while the page is hidden. Restarts when `key` changes. */
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
      // A round under way schedules the next one itself: a second chain would never end.
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
