/**
 * Queues whose batches begin together. What is asked of many small queues at the same time then shares calls on its whole way; without this each
 * stage of the way has a few of them in hand, and every call is small.
 *
 * Guarantees: a wave begins when the last one is over (every batch of it has been answered and is not held back any more), when enough asks wait in
 * all queues, or `msMax` after the last one began, whichever comes first. A queue that finds no wave under way begins in the next turn of the event loop.
 * Decides nothing about one queue: that it has one batch in flight is its own rule.
 */

import { type Clock, nextTurn } from '../clock.ts'

/** So many asks share the fixed cost of a call: more would only wait. */
export const FULL_ENOUGH = 64
/** At most so many turns of the event loop between two waves; fewer when as many asks wait as the last one had. */
export const TURNS_BETWEEN_MAX = 4

export type Waves = ReturnType<typeof createWaves>

export function createWaves({
  clock,
  msMax,
}: {
  readonly clock: Pick<Clock, 'elapsed' | 'sleep'>
  readonly msMax: number
}) {
  /** Asks that wait, over all queues. */
  let waiting = 0
  /** The last one: when it began, its asks, and its batches that are not over. */
  let wave = { beganMs: Number.NEGATIVE_INFINITY, asks: 0, underway: 0 }
  let next: Promise<void> | undefined
  /** Called when the last wave is over, or enough asks wait. */
  let onReady: (() => void) | undefined

  async function gather(): Promise<void> {
    await new Promise<void>(nextTurn)
    const leftMs = wave.beganMs + msMax - clock.elapsed()
    if (wave.underway > 0 && waiting < FULL_ENOUGH && leftMs > 0) {
      const ready = Promise.withResolvers<void>()
      onReady = ready.resolve
      void clock.sleep(leftMs).then(ready.resolve)
      await ready.promise
      onReady = undefined
    }
    const all = Math.min(FULL_ENOUGH, wave.asks)
    // After a lone ask there is nothing to wait for.
    for (let turns = 0; all > 1 && turns < TURNS_BETWEEN_MAX && waiting < all; turns++)
      await new Promise<void>(nextTurn)
    wave = { beganMs: clock.elapsed(), asks: 0, underway: 0 }
    next = undefined
  }

  return {
    joined(): void {
      waiting += 1
      if (waiting >= FULL_ENOUGH) onReady?.()
    },
    /** Resolves when the next wave begins. */
    next(): Promise<void> {
      next ??= gather()
      return next
    },
    /** A batch of so many asks begins. To be called when it is over; one that is late holds back the wave after its own only. */
    began(count: number): () => void {
      const own = wave
      waiting -= count
      own.asks += count
      own.underway += 1
      return () => {
        own.underway -= 1
        if (own === wave && own.underway === 0) onReady?.()
      }
    },
  }
}
