/** While the buyers get their tickets, the opening is kept in the future by moving it, so that no buyer misses it. */

import type { Clock } from '../../base/clock.ts'

interface Opening {
  readonly clock: Clock
  /** The server's clock. */
  readonly serverNow: () => number
  readonly opensAtMs: number
  /** The opening is moved when it is nearer than this, or than `SLOWNESS` times the longest stall seen so far… */
  readonly nearMs: number
  /** …to so much, and `marginMs`, from now. */
  readonly marginMs: number
  readonly move: (opensAtMs: number) => Promise<void>
}

const CHECK_MS = 100
/** A machine that stood still for a while, or a server that took long to move the opening, may do so again, and for longer. */
const SLOWNESS = 5

/** Runs `work` and returns its result with the final opening, which is at least `marginMs + leastMs` from now. */
export async function keepAhead<T>(
  opening: Opening,
  leastMs: number,
  work: () => Promise<T>,
): Promise<{ readonly done: T; readonly opensAtMs: number }> {
  const { clock, serverNow, nearMs, marginMs, move } = opening
  let { opensAtMs } = opening
  let stalledMs = 0
  const nearestMs = () => Math.max(nearMs, SLOWNESS * stalledMs)
  /** Measures how much longer than `expectedMs` it takes. */
  const measured = async (expectedMs: number, run: () => Promise<unknown>) => {
    const fromMs = clock.elapsed()
    await run().finally(() => {
      stalledMs = Math.max(stalledMs, clock.elapsed() - fromMs - expectedMs)
    })
  }
  const postpone = () =>
    measured(0, async () => {
      const laterMs = serverNow() + nearestMs() + marginMs
      await move(laterMs)
      opensAtMs = laterMs
    })
  const over = new AbortController()
  const watch = async () => {
    while (!over.signal.aborted) {
      if (opensAtMs - serverNow() < nearestMs()) await postpone().catch(() => {})
      await measured(CHECK_MS, () => clock.sleep(CHECK_MS, over.signal))
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
