/**
 * Requests up to 100 ms before the opening: one timer per item wakes all of them at the opening. Bounded over all items together; beyond the
 * bound the answer is "busy".
 */

import type { Clock } from '../../base/clock.ts'
import type { ItemId } from '../../domain/ids.ts'

export type Opening = ReturnType<typeof createOpening>

export function createOpening(clock: Clock, waitingMax: number) {
  const timers = new Map<ItemId, Promise<void>>()
  let waiting = 0
  return {
    /** Resolves in about `ms`, together with all others that wait for this item. Undefined: too many wait already. */
    wait(item: ItemId, ms: number): Promise<void> | undefined {
      if (waiting >= waitingMax) return undefined
      let timer = timers.get(item)
      if (timer === undefined) {
        // Timers fire a little early now and then; a millisecond more spares all of them a second wait.
        timer = clock.sleep(Math.max(1, Math.ceil(ms) + 1)).then(() => void timers.delete(item))
        timers.set(item, timer)
      }
      waiting += 1
      return timer.then(() => {
        waiting -= 1
      })
    },
  }
}
