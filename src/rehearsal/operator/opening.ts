/** While the buyers get their tickets, the opening is kept in the future by moving it, so that no buyer misses it. */

import type { Clock } from '../../base/clock.ts'

interface Opening {
  readonly clock: Clock
  /** The server's clock. */
  readonly serverNow: () => number
  readonly opensAtMs: number
  /** The opening is moved when it is nearer than this… */
  readonly nearMs: number
  /** …to `nearMs + marginMs` from now. */
  readonly marginMs: number
  readonly move: (opensAtMs: number) => Promise<void>
}

const CHECK_MS = 100

/** Runs `work` and returns its result with the final opening, which is at least `marginMs + leastMs` from now. */
export async function keepAhead<T>(
  opening: Opening,
  leastMs: number,
  work: () => Promise<T>,
): Promise<{ readonly done: T; readonly opensAtMs: number }> {
  const { clock, serverNow, nearMs, marginMs, move } = opening
  let { opensAtMs } = opening
  const postpone = async () => {
    const laterMs = serverNow() + nearMs + marginMs
    await move(laterMs)
    opensAtMs = laterMs
  }
  const over = new AbortController()
  const watch = async () => {
    while (!over.signal.aborted) {
      if (opensAtMs - serverNow() < nearMs) await postpone().catch(() => {})
      await clock.sleep(CHECK_MS, over.signal)
    }
  }
  const watching = watch()
  const done = await work().finally(() => {
    over.abort()
    return watching
  })
  if (opensAtMs - serverNow() < marginMs + leastMs) await postpone()
  return { done, opensAtMs }
}
