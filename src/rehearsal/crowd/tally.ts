/**
 * Counts while the rehearsal runs, without slowing it: clicks and answers over time, latencies from the planned moment, and every answer
 * to an order request in the form that the promises check (`Told`).
 */

import type { Told } from '../../domain/promises/snapshot.ts'
import { Histogram } from '../client/histogram.ts'

/** The groups of answers in the report's pictures. */
const NONE = { clicks: 0, orders: 0, refusals: 0, later: 0, errors: 0 }
type Stream = keyof typeof NONE

export const STREAM_OF: Readonly<Record<Told['answer']['kind'], Stream>> = {
  placed: 'orders',
  reserved: 'orders',
  same: 'orders',
  sold_out: 'refusals',
  not_enough: 'refusals',
  early: 'refusals',
  paused: 'refusals',
  over: 'refusals',
  attempts_used: 'refusals',
  invalid: 'refusals',
  busy: 'later',
  rate_limited: 'later',
  unknown: 'errors',
}
const STEP_MS = 20

export class Tally {
  readonly told: Told[] = []
  /** Order requests of persons whose wait has ended (`waits.ts`): from the planned click to its answer, whatever it said. */
  readonly asked = new Histogram()
  /** From the buyer's first click to the first answer that shows the order placed, which comes after COMMIT. */
  readonly placed = new Histogram()
  readonly answers = new Map<string, number>()
  readonly unexpected = new Map<string, number>()
  readonly #steps: Record<Stream, number>[] = []
  readonly #fromMs: number
  readonly totals = { ...NONE }
  /** Of an order request of a person, after the opening. */
  lastAnswerMs = 0
  sent = 0
  tickets = 0

  /** Times count from the opening; `fromMs` is the first planned click, and negative. */
  constructor(fromMs: number) {
    this.#fromMs = fromMs
  }

  add(stream: Stream, atMs: number): void {
    const at = Math.max(0, Math.floor((atMs - this.#fromMs) / STEP_MS))
    while (this.#steps.length <= at) this.#steps.push({ ...NONE })
    this.#steps[at]![stream] += 1
    this.totals[stream] += 1
  }

  count(what: string): void {
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1)
  }

  surprise(what: string): void {
    this.unexpected.set(what, (this.unexpected.get(what) ?? 0) + 1)
  }

  timeline() {
    const counts = (stream: Stream): readonly number[] => this.#steps.map(step => step[stream])
    const [clicks, orders, refusals] = [counts('clicks'), counts('orders'), counts('refusals')]
    const [later, errors] = [counts('later'), counts('errors')]
    return { fromMs: this.#fromMs, stepMs: STEP_MS, clicks, orders, refusals, later, errors }
  }
}
