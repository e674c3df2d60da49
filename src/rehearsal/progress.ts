/** What a rehearsal is doing, reported a few times a second. */

import type { Clock } from '../base/clock.ts'
import type { Buyers } from './crowd/buyers.ts'
import type { Tally } from './crowd/tally.ts'

interface Step {
  readonly phase: 'connecting' | 'signing in' | 'tickets' | 'waiting' | 'selling' | 'settling' | 'checking'
  readonly done: number
  readonly of: number
  /** What is waited for, if anything. */
  readonly waitsFor: string | undefined
}

export interface Progress extends Step, Readonly<Record<'orders' | 'refusals' | 'later' | 'errors', number>> {
  /** Buyers whose order is reserved and not placed yet. */
  readonly reserved: number
}

const REPORT_MS = 100

export class ProgressBoard {
  readonly #tally: Tally
  #step: Step = { phase: 'connecting', done: 0, of: 0, waitsFor: undefined }
  #buyers: Buyers | undefined

  constructor(tally: Tally) {
    this.#tally = tally
  }

  show(phase: Step['phase'], done: number, of: number, waitsFor?: string): void {
    this.#step = { phase, done, of, waitsFor }
  }

  /** The sale opens: from here on the buyers' own counts are shown. */
  follow(buyers: Buyers, of: number): void {
    this.#buyers = buyers
    this.show('selling', 0, of)
  }

  /** Between two rounds: what is waited for; undefined when the next round begins. */
  settle(waitsFor: string | undefined): void {
    this.show(waitsFor === undefined ? 'selling' : 'settling', this.#buyers?.settledCount ?? 0, this.#step.of, waitsFor)
  }

  async report(clock: Clock, over: AbortSignal, watch: (progress: Progress) => void): Promise<void> {
    while (!over.aborted) {
      watch(this.#read())
      await clock.sleep(REPORT_MS, over)
    }
  }

  #read(): Progress {
    const { orders, refusals, later, errors } = this.#tally.totals
    const buyers = this.#buyers
    const done = this.#step.phase === 'selling' ? (buyers?.settledCount ?? 0) : this.#step.done
    return { ...this.#step, done, orders, refusals, later, errors, reserved: buyers?.reservedCount ?? 0 }
  }
}
