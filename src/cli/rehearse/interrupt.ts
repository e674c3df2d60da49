/**
 * Ctrl-C and what else asks a command to stop. The first time it stops in good order; who asks again is impatient. A signal that comes
 * again within a moment is the same one: a terminal sends it to every process of a command, and a launcher passes it on.
 */

import type { Clock } from '../../base/clock.ts'

const SAME_MS_MAX = 500

/** What to do with each signal. */
export function createInterrupt(clock: Clock, stop: () => void, impatient: () => void): () => void {
  let firstMs: number | undefined
  return () => {
    const nowMs = clock.elapsed()
    if (firstMs === undefined) {
      firstMs = nowMs
      stop()
    } else if (nowMs - firstMs > SAME_MS_MAX) impatient()
  }
}
