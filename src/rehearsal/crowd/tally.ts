/**
 * Counts while the rehearsal runs, without slowing it: clicks and answers over time, latencies from the planned moment, and every answer
 * to an order request in the form that the promises check (`Told`).
 */

import type { Told } from '../../domain/promises/snapshot.ts'
import { Histogram } from '../client/histogram.ts'

/** The groups of answers in the report's pictures. */
const STREAMS = ['clicks', 'orders', 'refusals', 'later', 'errors'] as const
export type Stream = (typeof STREAMS)[number]

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
  readonly #steps: Record<Stream, number[]> = { clicks: [], orders: [], refusals: [], later: [], errors: [] }
  readonly #fromMs: number
  readonly totals: Record<Stream, number> = { clicks: 0, orders: 0, refusals: 0, later: 0, errors: 0 }
  /** Of an order request of a person, after the opening. */
  lastAnswerMs = 0
  sent = 0
  tickets = 0

  /** Times count from the opening; `fromMs` is the first planned click, and negative. */
  constructor(fromMs: number) {
    this.#fromMs = fromMs
  }

  add(stream: Stream, atMs: number): void {
    const steps = this.#steps[stream]
    const at = Math.max(0, Math.floor((atMs - this.#fromMs) / STEP_MS))
    while (steps.length <= at) steps.push(0)
    steps[at]! += 1
    this.totals[stream] += 1
  }

  count(what: string): void {
    this.answers.set(what, (this.answers.get(what) ?? 0) + 1)
  }

  surprise(what: string): void {
    this.unexpected.set(what, (this.unexpected.get(what) ?? 0) + 1)
  }

  timeline(): { readonly fromMs: number; readonly stepMs: number } & Readonly<Record<Stream, readonly number[]>> {
    const length = Math.max(...STREAMS.map(stream => this.#steps[stream].length))
    const counts = STREAMS.map(stream => [stream, Array.from({ length }, (_, i) => this.#steps[stream][i] ?? 0)])
    return { fromMs: this.#fromMs, stepMs: STEP_MS, ...(Object.fromEntries(counts) as Record<Stream, number[]>) }
  }
}
