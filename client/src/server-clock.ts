/**
 * The clock by which sales open. The call with the shortest way there and back counts: it is wrong by half of that at most. From there the
 * monotonic clock goes on, so a device whose own clock is wrong, or is set meanwhile, still asks at the right moment.
 */

import type { Calls } from './calls.ts'
import type { ServerTime } from './wire.ts'

const CALLS = 4
/** Clocks drift, and a device that slept may have stopped its own. */
const VALID_MS = 5 * 60_000

export class ServerClock {
  readonly #calls: Calls
  #offsetMs = 0
  #measuredAtMs = Number.NEGATIVE_INFINITY

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Unix milliseconds; the device's own time until it was measured. */
  nowMs(): number {
    return this.#measuredAtMs === Number.NEGATIVE_INFINITY ? Date.now() : performance.now() + this.#offsetMs
  }

  async measure(signal?: AbortSignal, afresh = false): Promise<void> {
    if (!afresh && performance.now() - this.#measuredAtMs < VALID_MS) return
    let shortestMs = Number.POSITIVE_INFINITY
    for (let i = 0; i < CALLS; i++) {
      const sentMs = performance.now()
      const { unixMs } = await this.#calls.send<ServerTime>('/api/time', { signal })
      const answeredMs = performance.now()
      if (answeredMs - sentMs >= shortestMs) continue
      shortestMs = answeredMs - sentMs
      this.#offsetMs = unixMs + shortestMs / 2 - answeredMs
    }
    this.#measuredAtMs = performance.now()
  }
}
