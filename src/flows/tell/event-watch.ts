/**
 * Waits for events behind a number. While requests wait, the highest number is read twice a second, once for all of them; where nothing waits,
 * nothing is read. Bounded: a request beyond `WAITING_MAX` does not wait.
 */

import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import type { EventLog } from '../../ledger/events.ts'

interface EventWatchParts {
  readonly eventLog: Pick<EventLog, 'ends'>
  readonly clock: Clock
  /** The process is asked to stop: it answers what waits. */
  readonly stopping: () => boolean
}

const READ_EVERY_MS = 500
const WAITING_MAX = 1_000

export type EventWatch = ReturnType<typeof createEventWatch>

export function createEventWatch({ eventLog, clock, stopping }: EventWatchParts) {
  let newest = 0
  let waiting = 0
  let reading: Promise<void> | undefined

  async function readAgain(): Promise<void> {
    await clock.sleep(READ_EVERY_MS)
    // A ledger that does not answer is asked again: the request itself reports it when its time is over.
    await onFault(
      async () => {
        newest = Math.max(newest, (await eventLog.ends()).newest)
      },
      () => {},
    )
    reading = undefined
  }

  return {
    /** Resolves when a number behind this one was given, when the time is over, or when `signal` aborts. */
    async beyond(number: number, waitMs: number, signal: AbortSignal): Promise<void> {
      if (waiting >= WAITING_MAX) return
      waiting += 1
      try {
        const untilMs = clock.elapsed() + waitMs
        while (newest <= number && clock.elapsed() < untilMs && !signal.aborted && !stopping()) {
          reading ??= readAgain()
          await reading
        }
      } finally {
        waiting -= 1
      }
    },
    /** The leader has given numbers in this process. */
    seen(number: number): void {
      newest = Math.max(newest, number)
    },
  }
}
