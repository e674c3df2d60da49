/** What a rehearsal is doing, reported a few times a second. */

import type { Clock } from '../base/clock.ts'
import type { Buyers } from './crowd/buyers.ts'
import type { Tally } from './crowd/tally.ts'

export interface Progress extends Readonly<Record<'orders' | 'refusals' | 'later' | 'errors', number>> {
  readonly phase: 'connecting' | 'signing in' | 'tickets' | 'waiting' | 'selling' | 'settling' | 'checking'
  readonly done: number
  readonly of: number
  /** What is waited for, if anything. */
  readonly waitsFor: string | undefined
  /** Buyers whose order is reserved and not placed yet. */
  readonly reserved: number
}

const REPORT_MS = 100

export class ProgressBoard {
  readonly #tally: Tally
  #step: Pick<Progress, 'phase' | 'done' | 'of' | 'waitsFor'>
  #buyers: Buyers | undefined

  constructor(tally: Tally, connections: number) {
    this.#tally = tally
    this.#step = { phase: 'connecting', done: 0, of: connections, waitsFor: undefined }
  }

  show(phase: Progress['phase'], done: number, of: number, waitsFor?: string): void {
    this.#step = { phase, done, of, waitsFor }
  }

  /** From the opening on: the buyers' own counts, and what is waited for between two rounds. */
  follow(buyers: Buyers, of: number, waitsFor?: string): void {
    this.#buyers = buyers
    this.show(waitsFor === undefined ? 'selling' : 'settling', 0, of, waitsFor)
  }

  async report(clock: Clock, over: AbortSignal, watch: (progress: Progress) => void): Promise<void> {
    while (!over.aborted) {
      const { orders, refusals, later, errors } = this.#tally.totals
      const { phase, of, waitsFor } = this.#step
      const buyers = this.#buyers
      const selling = phase === 'selling' || phase === 'settling'
      const done = selling ? (buyers?.settledCount ?? 0) : this.#step.done
      watch({ phase, done, of, waitsFor, orders, refusals, later, errors, reserved: buyers?.reservedCount ?? 0 })
      await clock.sleep(REPORT_MS, over)
    }
  }
}
