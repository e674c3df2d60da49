/**
 * The clock of a gate outside the process, computed from its answers: of the last few, the one that was under way for the shortest time
 * counts, to within half that time. An answer that can't come from the same clock shows that the clock was set: older samples are dropped.
 * A clock that steps back a little counts as standing still (`../step-back.ts`). Before the first answer it is this machine's own clock,
 * which may be hours off: without a status nothing is decided by it.
 */

import type { Clock } from '../../base/clock.ts'
import { outwaitStepBack, STEP_BACK_MS_MAX } from '../step-back.ts'

/** Enough to have a quick answer among them, few enough that two clocks do not drift apart meanwhile. */
const SAMPLES = 16

interface Sample {
  readonly underwayMs: number
  /** What the gate's clock says when ours (monotonic) is 0. */
  readonly offsetMs: number
}

export class GateClock {
  readonly #clock: Clock
  readonly #samples: Sample[] = []
  #best: Sample | undefined
  #shownMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  seen(nowMs: number, askedAtMs: number, answeredAtMs: number): void {
    const sample = { underwayMs: answeredAtMs - askedAtMs, offsetMs: nowMs - (askedAtMs + answeredAtMs) / 2 }
    if (this.#best !== undefined && wasSet(this.#best, sample)) this.#samples.length = 0
    this.#samples.push(sample)
    if (this.#samples.length > SAMPLES) this.#samples.shift()
    // Of equals the newest.
    this.#best = this.#samples.reduce((best, one) => (one.underwayMs <= best.underwayMs ? one : best))
  }

  nowMs(): number {
    if (this.#best === undefined) return this.#clock.now()
    this.#shownMs = outwaitStepBack(this.#shownMs, Math.floor(this.#best.offsetMs + this.#clock.elapsed()))
    return this.#shownMs
  }
}

/** Each may be wrong by half the time it was underway; servers that take over from each other differ a little. */
function wasSet(before: Sample, now: Sample): boolean {
  return Math.abs(now.offsetMs - before.offsetMs) > STEP_BACK_MS_MAX + (before.underwayMs + now.underwayMs) / 2
}
