/**
 * The flight recorder: the last decisions of a process, in a ring of fixed size. What a crowd is refused by is one line with a count, so that
 * it does not push out what was decided before it. No buyer, address or ticket is in it: orders are named by their ids.
 *
 * Fixed memory: the slots are made once and written over. Noting a repeated refusal reads no clock and makes nothing.
 */

import { assert } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import type { Flight } from '../base/flight.ts'

interface Decision {
  /** Of the first, where it is counted. Unix ms. */
  readonly atMs: number
  readonly what: string
  readonly about: string
  readonly order: string
  readonly count: number
}

/** A few thousand: some seconds of the first rush, hours of a quiet sale. */
const DECISIONS_MAX = 4_096
/** Refusals of several sales come mixed: so far back is looked for the one that is counted. */
const ALIKE_AMONG = 4

export class FlightRecorder implements Flight {
  readonly #clock: Pick<Clock, 'now'>
  readonly #slots: { -readonly [Name in keyof Decision]: Decision[Name] }[]
  readonly #mask: number
  /** How many were noted; the next one is written into the slot of this number. */
  #noted = 0

  constructor(clock: Pick<Clock, 'now'>, slots = DECISIONS_MAX) {
    assert(slots >= ALIKE_AMONG && (slots & (slots - 1)) === 0, `a ring of ${slots} slots is no power of two`)
    this.#clock = clock
    this.#mask = slots - 1
    this.#slots = Array.from({ length: slots }, () => ({ atMs: 0, what: '', about: '', order: '', count: 0 }))
  }

  note(what: string, about: string, order: string): void {
    if (order === '') {
      for (let back = 1; back <= ALIKE_AMONG; back++) {
        const alike = this.#slots[(this.#noted - back) & this.#mask]!
        if (alike.what !== what || alike.about !== about || alike.order !== '') continue
        alike.count += 1
        return
      }
    }
    const slot = this.#slots[this.#noted & this.#mask]!
    slot.atMs = this.#clock.now()
    slot.what = what
    slot.about = about
    slot.order = order
    slot.count = 1
    this.#noted += 1
  }

  /** The last ones, oldest first. */
  last(max = DECISIONS_MAX): readonly Decision[] {
    const count = Math.min(max, this.#noted, this.#slots.length)
    return Array.from({ length: count }, (_, i) => ({ ...this.#slots[(this.#noted - count + i) & this.#mask]! }))
  }

  /** How many lines there were, also those that are written over. */
  noted(): number {
    return this.#noted
  }
}
