/**
 * The opening waits for the buyers: while they get their tickets it is moved ahead of them, so that nobody misses it. However that
 * ends, the moving ends with it.
 */

import type { Clock } from '../../base/clock.ts'

interface Opening {
  readonly clock: Clock
  /** When it is now, and when it opens, on the server's clock. */
  readonly serverNow: () => number
  readonly opensAtMs: number
  /** It is never nearer than this. */
  readonly nearMs: number
  /** Puts it off to `nearMs` from now, and how much more. */
  readonly marginMs: number
  readonly move: (opensAtMs: number) => Promise<void>
}

const WATCH_MS = 100

/** Does `work` with the opening kept ahead. When it opens in the end: not sooner than `marginMs` and `leastMs` from now. */
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
      await clock.sleep(WATCH_MS, over.signal)
    }
  }
  const watching = watch()
  let done: T
  try {
    done = await work()
  } finally {
    over.abort()
    await watching
  }
  if (opensAtMs - serverNow() < marginMs + leastMs) await postpone()
  return { done, opensAtMs }
}
