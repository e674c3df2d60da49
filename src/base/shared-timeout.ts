/**
 * The same timeout for many calls, with one timer for all of them: with a hundred hot items a timer for each small batch cost as much as a
 * good part of the batch itself.
 *
 * Guarantees: a call that takes longer is given up soon after `ms`, in the order the calls came; it goes on, and its outcome is ignored.
 * While no call is under way there is no timer. Bounded by the calls under way, and those that were answered within the last `ms`.
 */

import type { Clock } from './clock.ts'

/** The call's value, or undefined after the timeout. Rejects as the call does, before the timeout. */
export type SharedTimeout = <T>(call: Promise<T>) => Promise<T | undefined>

interface Waiting {
  readonly untilMs: number
  /** Undefined: answered. */
  giveUp: (() => void) | undefined
}

export function createSharedTimeout({ clock, ms }: { readonly clock: Clock; readonly ms: number }): SharedTimeout {
  /** Oldest first: all have the same timeout. */
  let calls: Waiting[] = []
  let unanswered = 0
  let watch: AbortController | undefined

  async function keepWatch(quiet: AbortSignal): Promise<void> {
    for (;;) {
      const first = calls.findIndex(one => one.giveUp !== undefined)
      if (first < 0) return
      calls.splice(0, first)
      const leftMs = calls[0]!.untilMs - clock.elapsed()
      if (leftMs > 0) {
        await clock.sleep(leftMs, quiet)
        if (quiet.aborted) return
        continue
      }
      calls.shift()!.giveUp?.()
    }
  }

  function answered(one: Waiting): void {
    if (one.giveUp === undefined) return
    one.giveUp = undefined
    unanswered -= 1
    if (unanswered > 0) return
    calls = []
    watch?.abort(true)
    watch = undefined
  }

  return <T>(call: Promise<T>) =>
    new Promise<T | undefined>((resolve, reject) => {
      const giveUp = () => {
        resolve(undefined)
        answered(one)
      }
      const one: Waiting = { untilMs: clock.elapsed() + ms, giveUp }
      calls.push(one)
      unanswered += 1
      if (watch === undefined) {
        watch = new AbortController()
        void keepWatch(watch.signal)
      }
      call.then(
        value => {
          answered(one)
          resolve(value)
        },
        (error: unknown) => {
          answered(one)
          reject(error)
        },
      )
    })
}
