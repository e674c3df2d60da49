/** What a rehearsal is doing right now, shown a few times a second to whoever watches. */

import type { Clock } from '../base/clock.ts'
import type { Buyers } from './crowd/buyers.ts'
import type { Tally } from './crowd/tally.ts'

export interface Progress {
  readonly phase: 'connecting' | 'signing in' | 'tickets' | 'waiting' | 'stampede' | 'settling' | 'checking'
  readonly done: number
  readonly of: number
  readonly orders: number
  readonly refusals: number
  readonly later: number
  readonly errors: number
  /** Buyers whose order is on its way. */
  readonly reserved: number
  /** What is waited for, if anything. */
  readonly waitsFor: string | undefined
}

const WATCH_MS = 100

/** What is shown; the numbers of the buyers are read anew each time. */
export class Board {
  readonly #tally: Tally
  #at: Pick<Progress, 'phase' | 'done' | 'of' | 'waitsFor'> = {
    phase: 'connecting',
    done: 0,
    of: 0,
    waitsFor: undefined,
  }
  #buyers: Buyers | undefined

  constructor(tally: Tally) {
    this.#tally = tally
  }

  show(phase: Progress['phase'], done: number, of: number, waitsFor?: string): void {
    this.#at = { phase, done, of, waitsFor }
  }

  /** The stampede is on: from here the buyers say how far it is. */
  follow(buyers: Buyers, of: number): void {
    this.#buyers = buyers
    this.show('stampede', 0, of)
  }

  /** What the books are waited for between two rounds; nothing: the crowd is out again. */
  settle(waitsFor: string | undefined): void {
    this.show(waitsFor === undefined ? 'stampede' : 'settling', this.#buyers?.settledCount ?? 0, this.#at.of, waitsFor)
  }

  read(): Progress {
    const { orders, refusals, later, errors } = this.#tally.totals
    const buyers = this.#buyers
    const done = this.#at.phase === 'stampede' ? (buyers?.settledCount ?? 0) : this.#at.done
    return { ...this.#at, done, orders, refusals, later, errors, reserved: buyers?.reservedCount ?? 0 }
  }
}

export async function watchOver(
  board: Board,
  clock: Clock,
  over: AbortSignal,
  watch: (progress: Progress) => void,
): Promise<void> {
  while (!over.aborted) {
    watch(board.read())
    await clock.sleep(WATCH_MS, over)
  }
}
