/**
 * What happened, counted while it happens and without slowing it: clicks and answers over time, latencies from the intended moment,
 * and every answer to an order as the promises want it (`Told`).
 */

import type { Told } from '../../domain/promises/snapshot.ts'
import { Histogram } from '../client/histogram.ts'

/** Answers as a picture shows them. */
const STREAMS = ['clicks', 'orders', 'refusals', 'later', 'errors'] as const
export type Stream = (typeof STREAMS)[number]

const STREAM_OF: Readonly<Record<Told['answer']['kind'], Stream>> = {
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

export function streamOf(kind: Told['answer']['kind']): Stream {
  return STREAM_OF[kind]
}

export class Tally {
  readonly told: Told[] = []
  /** Every order asked for by a person whose wait has ended (`waits.ts`): from the intended click to its answer, whatever it said. */
  readonly asked = new Histogram()
  /** The first word of each placed order: it comes after the commit, so this is from the buyer's first click to the row. */
  readonly placed = new Histogram()
  readonly answers = new Map<string, number>()
  readonly unexpected = new Map<string, number>()
  readonly #steps: Record<Stream, number[]> = { clicks: [], orders: [], refusals: [], later: [], errors: [] }
  readonly #fromMs: number
  readonly totals: Record<Stream, number> = { clicks: 0, orders: 0, refusals: 0, later: 0, errors: 0 }
  /** Of an order asked for by a person, after the opening. */
  lastAnswerMs = 0
  sent = 0
  /** Really given out. */
  tickets = 0

  /** Times are counted from the opening; `fromMs` is when the crowd begins to stir, and negative. */
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
    const whole = (stream: Stream) => Array.from({ length }, (_, i) => this.#steps[stream][i] ?? 0)
    const [clicks, orders, refusals, later, errors] = STREAMS.map(whole) as [
      number[],
      number[],
      number[],
      number[],
      number[],
    ]
    return { fromMs: this.#fromMs, stepMs: STEP_MS, clicks, orders, refusals, later, errors }
  }
}
