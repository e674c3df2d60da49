/**
 * How late the event loop is: a timer is asked for again and again, and what it comes late is what every request waits at least.
 * Counted on the clock that is handed in; timers are as coarse as a millisecond, so read it from 1 ms up.
 */

import type { Clock } from '../base/clock.ts'
import type { Meters } from '../base/meters.ts'

const EVERY_MS = 20

/** Resolves when the signal has stopped it. */
export async function watchEventLoop(clock: Clock, meters: Meters, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const askedAtMs = clock.elapsed()
    await clock.sleep(EVERY_MS, signal)
    if (!signal.aborted) meters.time('event_loop_delay', Math.max(0, clock.elapsed() - askedAtMs - EVERY_MS))
  }
}
