/**
 * Which waiting delivery of one endpoint is tried next, and when. Pure: the time is given.
 *
 * Of one subject (an order) only the first one is tried, until it is settled. An endpoint that works gets several at once; each that fails waits
 * for its own time. States: working → away (many tries in a row have failed) → working (one succeeded). While it is away there is one try at a
 * time, of the delivery that has waited longest for one, with a growing pause between: an endpoint that comes back is not met by a storm,
 * and deliveries that only one order's receiver refuses do not keep the others. An endpoint that took something minutes ago and answers is not
 * away: it refuses single events. Their tries use half of the room, as long as something new is due.
 */

import type { Random } from '../../base/random.ts'
import { retryAfterMs } from '../../webhooks/retry-plan.ts'

export interface OpenDelivery {
  readonly event: number
  readonly subject: string
  tries: number
  readonly triesBefore: number
  /** All by the monotonic clock. */
  dueMs: number
  readonly giveUpMs: number
  /** Undefined: not since this process has it. */
  triedMs: number | undefined
  inFlight: boolean
}

const IN_FLIGHT_MAX = 8
/** Of them, tries of what has failed before, while something new is due. */
const RETRIES_MAX = 4
const FAILED_IN_A_ROW_MAX = 10
const AWAY_PAUSE_MS_MAX = 5 * 60_000
/** What was never tried does not wait for the end of a long pause. */
const FRESH_PAUSE_MS_MAX = 5_000
/** For so long after a success an answer that is none says something about its event, not about the endpoint. */
const WORKS_MS = 2 * 60_000

/** It was tried without success since it was queued, or sent again by hand. */
export const hasFailed = ({ tries, triesBefore }: OpenDelivery): boolean => tries > triesBefore

export class EndpointPlan {
  readonly #random: Random
  #failedInARow = 0
  #lastFailed = false
  #succeededMs: number | undefined
  /** While it is away: the try that decides, how many of them have failed, and when the next one may be made. */
  #probe: OpenDelivery | undefined
  #probesFailed = 0
  #pauseFromMs = 0
  #pauseMs = 0

  constructor(random: Random) {
    this.#random = random
  }

  get failing(): boolean {
    return this.#lastFailed
  }

  get #away(): boolean {
    return this.#failedInARow >= FAILED_IN_A_ROW_MAX
  }

  /** @param open in the order of their events */
  next(open: Iterable<OpenDelivery>, nowMs: number): readonly OpenDelivery[] {
    const subjects = new Set<string>()
    const heads: OpenDelivery[] = []
    let inFlight = 0
    let retries = 0
    for (const one of open) {
      if (one.inFlight) {
        inFlight += 1
        if (hasFailed(one)) retries += 1
      } else if (!subjects.has(one.subject)) heads.push(one)
      subjects.add(one.subject)
    }
    if (!this.#away) {
      const room = Math.max(0, IN_FLIGHT_MAX - inFlight)
      const due = room === 0 ? [] : heads.filter(one => one.dueMs <= nowMs)
      const fresh = due.filter(one => !hasFailed(one))
      const again = due.filter(hasFailed).slice(0, Math.max(0, RETRIES_MAX - retries, room - fresh.length))
      return [...again, ...fresh].slice(0, room)
    }
    if (inFlight > 0) return []
    const longest = heads.reduce<OpenDelivery | undefined>(
      (best, one) => (best === undefined || (one.triedMs ?? -1) < (best.triedMs ?? -1) ? one : best),
      undefined,
    )
    if (longest === undefined) return []
    const pauseMs = longest.triedMs === undefined ? Math.min(this.#pauseMs, FRESH_PAUSE_MS_MAX) : this.#pauseMs
    if (nowMs < this.#pauseFromMs + pauseMs) return []
    this.#probe = longest
    return [longest]
  }

  /** What was waiting for its time may be tried at once: the endpoint is back. */
  succeeded(open: Iterable<OpenDelivery>, nowMs: number): void {
    if (this.#away) for (const one of open) one.dueMs = Math.min(one.dueMs, nowMs)
    this.#failedInARow = 0
    this.#probesFailed = 0
    this.#lastFailed = false
    this.#succeededMs = nowMs
  }

  /** Returns how long this delivery waits. `answered`: with an HTTP status. */
  failed(one: OpenDelivery, nowMs: number, answered: boolean): number {
    this.#lastFailed = true
    const refusesOne = answered && this.#succeededMs !== undefined && nowMs - this.#succeededMs < WORKS_MS
    if (this.#away || !refusesOne) this.#countFailure(one, nowMs)
    const waitMs = retryAfterMs(this.#random, one.tries - one.triesBefore)
    one.dueMs = nowMs + waitMs
    return waitMs
  }

  #countFailure(one: OpenDelivery, nowMs: number): void {
    this.#failedInARow += 1
    // Tries that were under way together are one sign, not several: only the first and then each probe make the pause longer.
    if (this.#failedInARow === FAILED_IN_A_ROW_MAX || (this.#away && one === this.#probe)) {
      this.#probesFailed += 1
      this.#pauseFromMs = nowMs
      this.#pauseMs = retryAfterMs(this.#random, this.#probesFailed, AWAY_PAUSE_MS_MAX)
    }
  }
}
