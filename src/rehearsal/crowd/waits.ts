/**
 * How long buyers wait. Times are milliseconds from the opening.
 *
 * Latency: a wait begins with the intended click and ends with the next answer, whatever it says. A click without an answer (hung, broken)
 * waits on through its retries, so that a server does not look better for not answering. "Later" is an answer: the retry after it is a new
 * wait. A click that nobody repeats ends when it is given up, and who still waits when it is over has waited until then: at least so long.
 * From click to row: from a buyer's first click, retries included. Who was refused and comes back wants something new, and begins anew.
 *
 * Clicks before the opening and bots are not counted.
 */

import { Histogram } from '../client/histogram.ts'
import type { ClickKind } from '../plan/plan.ts'

interface Clicked {
  readonly kind: ClickKind
  readonly buyer: number
  readonly atMs: number
}

export class Waits {
  readonly #asked: Histogram
  /** Two for each buyer: the click and its retries, and the second click beside it. NaN while neither waits. */
  readonly #sinceMs: Float64Array
  readonly #firstMs: Float64Array

  /** Waits that have ended are added to `asked`. */
  constructor(arrivalsMs: Float64Array, asked: Histogram) {
    this.#asked = asked
    this.#firstMs = arrivalsMs.slice()
    this.#sinceMs = new Float64Array(2 * arrivalsMs.length).fill(Number.NaN)
  }

  begin(click: Clicked): void {
    if (!isCounted(click)) return
    const at = placeOf(click)
    if (Number.isNaN(this.#sinceMs[at]!)) this.#sinceMs[at] = click.atMs
  }

  /** There is an answer, or nobody asks for it any more. */
  end(click: Clicked, nowMs: number): void {
    if (!isCounted(click)) return
    const at = placeOf(click)
    if (Number.isNaN(this.#sinceMs[at]!)) return
    this.#asked.add(nowMs - this.#sinceMs[at]!)
    this.#sinceMs[at] = Number.NaN
  }

  comeBack(buyer: number, atMs: number): void {
    this.#firstMs[buyer] = atMs
  }

  /** Where the way to this click's row began. */
  firstMs({ buyer, atMs }: Clicked): number {
    return Math.min(atMs, this.#firstMs[buyer]!)
  }

  /** Every wait, also those that have not ended by then. */
  until(nowMs: number): Histogram {
    const all = new Histogram()
    all.merge(this.#asked)
    for (const sinceMs of this.#sinceMs) if (!Number.isNaN(sinceMs)) all.add(nowMs - sinceMs)
    return all
  }
}

function isCounted({ kind }: Clicked): boolean {
  return kind !== 'early' && kind !== 'bot'
}

function placeOf({ kind, buyer }: Clicked): number {
  return 2 * buyer + (kind === 'double' ? 1 : 0)
}
