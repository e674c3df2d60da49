/**
 * Signals that stop a command: the first lets it finish in good order, a later one ends it at once. A signal that comes again within a
 * moment is the same one: a terminal sends it to every process of a command, and a launcher passes it on.
 */

import type { Clock } from '../../base/clock.ts'

const SAME_MS_MAX = 500

/** What to do with each signal. */
export function createInterrupt(clock: Clock, stop: () => void, endNow: () => void): () => void {
  let firstMs: number | undefined
  return () => {
    const nowMs = clock.elapsed()
    if (firstMs === undefined) {
      firstMs = nowMs
      stop()
    } else if (nowMs - firstMs > SAME_MS_MAX) endNow()
  }
}
