/**
 * How long buyers wait. Times are milliseconds from the opening.
 *
 * Latency: a wait begins with the planned click and ends with the next answer, whatever it says. A click without an answer (hung, broken)
 * waits on through its retries, so that a server does not look better for not answering. "Later" is an answer: the retry after it is a new
 * wait. A click that is not retried ends when it is given up; a wait that is open at the end of the run counts with the time until then.
 * From click to row: from a buyer's first click, retries included. A refused buyer who comes back begins anew.
 *
 * Clicks before the opening and bots are not counted.
 */

import { Histogram } from '../client/histogram.ts'
import type { Click } from './context.ts'

type Clicked = Pick<Click, 'kind' | 'buyer' | 'atMs'>

export class Waits {
  readonly #asked: Histogram
  /** Two for each buyer: the click with its retries, and the double click. NaN while there is no wait. */
  readonly #sinceMs: Float64Array
  readonly #firstMs: Float64Array

  /** Waits that have ended are added to `asked`. */
  constructor(arrivalsMs: Float64Array, asked: Histogram) {
    this.#asked = asked
    this.#firstMs = arrivalsMs.slice()
    this.#sinceMs = new Float64Array(2 * arrivalsMs.length).fill(Number.NaN)
  }

  begin(click: Clicked): void {
    const at = indexOf(click)
    if (at !== undefined && Number.isNaN(this.#sinceMs[at]!)) this.#sinceMs[at] = click.atMs
  }

  /** There is an answer, or the click is given up. */
  end(click: Clicked, nowMs: number): void {
    const at = indexOf(click)
    if (at === undefined || Number.isNaN(this.#sinceMs[at]!)) return
    this.#asked.add(nowMs - this.#sinceMs[at]!)
    this.#sinceMs[at] = Number.NaN
  }

  comeBack(buyer: number, atMs: number): void {
    this.#firstMs[buyer] = atMs
  }

  /** When the way to this click's row began. */
  firstMs({ buyer, atMs }: Clicked): number {
    return Math.min(atMs, this.#firstMs[buyer]!)
  }

  /** Every wait, including those that are open at `nowMs`. */
  until(nowMs: number): Histogram {
    const all = new Histogram()
    all.merge(this.#asked)
    for (const sinceMs of this.#sinceMs) if (!Number.isNaN(sinceMs)) all.add(nowMs - sinceMs)
    return all
  }
}

/** Undefined for clicks that are not counted. */
function indexOf({ kind, buyer }: Clicked): number | undefined {
  if (kind === 'early' || kind === 'bot') return undefined
  return 2 * buyer + (kind === 'double' ? 1 : 0)
}
