/**
 * The clock of a gate elsewhere, told from its answers: of the last few, the one that was underway for the shortest time is believed, to
 * within half that time. An answer that can't be of the same clock as those before it was given by one that has been set: only what is told
 * from then on counts. A little back it is outwaited (`../step-back.ts`). Before it has heard from the gate it is this machine's own clock,
 * which may be hours off: nothing is decided by it, since nothing was looked at yet either.
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
  #toldMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  seen(nowMs: number, askedAtMs: number, answeredAtMs: number): void {
    const told = { underwayMs: answeredAtMs - askedAtMs, offsetMs: nowMs - (askedAtMs + answeredAtMs) / 2 }
    if (this.#best !== undefined && wasSet(this.#best, told)) this.#samples.length = 0
    this.#samples.push(told)
    if (this.#samples.length > SAMPLES) this.#samples.shift()
    // Of equals the newest.
    this.#best = this.#samples.reduce((best, one) => (one.underwayMs <= best.underwayMs ? one : best))
  }

  nowMs(): number {
    if (this.#best === undefined) return this.#clock.now()
    this.#toldMs = outwaitStepBack(this.#toldMs, Math.floor(this.#best.offsetMs + this.#clock.elapsed()))
    return this.#toldMs
  }
}

/** Each may be wrong by half the time it was underway; servers that take over from each other differ a little. */
function wasSet(before: Sample, now: Sample): boolean {
  return Math.abs(now.offsetMs - before.offsetMs) > STEP_BACK_MS_MAX + (before.underwayMs + now.underwayMs) / 2
}
