/**
 * The same patience with many calls, and one timer for all of them: with a hundred hot items a timer for each small batch, made and
 * unmade, cost as much as a good part of the batch itself.
 *
 * Guarantees: who is waited for too long is given up within the patience and a moment, in the order they came; a call that is given up
 * goes on, and what becomes of it is its own matter. While nobody is waited for there is no timer.
 * Bounded by the calls under way, and those that were answered within the last `ms`.
 */

import type { Clock } from './clock.ts'

/** What the call came to, or undefined when that takes too long. Rejects as the call does, while it is waited for. */
export type SharedTimeout = <T>(call: Promise<T>) => Promise<T | undefined>

interface Waiting {
  readonly untilMs: number
  /** Undefined: answered. */
  giveUp: (() => void) | undefined
}

export function createSharedTimeout({ clock, ms }: { readonly clock: Clock; readonly ms: number }): SharedTimeout {
  /** Oldest first: everybody is given the same time. */
  let line: Waiting[] = []
  let unanswered = 0
  let watch: AbortController | undefined

  async function keepWatch(quiet: AbortSignal): Promise<void> {
    for (;;) {
      const first = line.findIndex(one => one.giveUp !== undefined)
      if (first < 0) return
      line.splice(0, first)
      const leftMs = line[0]!.untilMs - clock.elapsed()
      if (leftMs > 0) {
        await clock.sleep(leftMs, quiet)
        if (quiet.aborted) return
        continue
      }
      line.shift()!.giveUp?.()
    }
  }

  function answered(one: Waiting): void {
    if (one.giveUp === undefined) return
    one.giveUp = undefined
    unanswered -= 1
    if (unanswered > 0) return
    line = []
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
      line.push(one)
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
