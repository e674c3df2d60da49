/**
 * The same timeout for many calls, with one timer for all of them: with a hundred hot items a timer for each small batch cost as much as a
 * good part of the batch itself.
 *
 * Guarantees: a call that takes longer is given up soon after `ms`, in the order the calls came; it goes on, and its outcome is ignored.
 * While no call is under way there is no timer. Bounded by the calls under way.
 */

import type { Clock } from './clock.ts'

/** The call's value, or undefined after the timeout. Rejects as the call does, before the timeout. */
export type SharedTimeout = <T>(call: Promise<T>) => Promise<T | undefined>

export function createSharedTimeout({ clock, ms }: { readonly clock: Clock; readonly ms: number }): SharedTimeout {
  /** Oldest first: all have the same timeout. */
  const waiting = new Set<{ readonly untilMs: number; readonly giveUp: () => void }>()
  let watch: AbortController | undefined

  async function keepWatch(quiet: AbortSignal): Promise<void> {
    while (!quiet.aborted) {
      const [oldest] = waiting
      const leftMs = oldest === undefined ? 0 : oldest.untilMs - clock.elapsed()
      if (leftMs > 0) await clock.sleep(leftMs, quiet)
      else oldest?.giveUp()
    }
  }

  return <T>(call: Promise<T>) =>
    new Promise<T | undefined>((resolve, reject) => {
      const one = { untilMs: clock.elapsed() + ms, giveUp: () => settle(() => resolve(undefined)) }
      const settle = (how: () => void) => {
        how()
        waiting.delete(one)
        if (waiting.size > 0) return
        watch?.abort(true)
        watch = undefined
      }
      waiting.add(one)
      if (watch === undefined) {
        watch = new AbortController()
        void keepWatch(watch.signal)
      }
      call.then(
        value => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(error)),
      )
    })
}
