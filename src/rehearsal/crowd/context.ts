/** What simulated buyers share: chance, limits, the server's address, and ways to send, to act later and to record. The crowd provides it. */

import type { Random } from '../../base/random.ts'
import type { ToldOrder } from '../../domain/promises/snapshot.ts'
import type { Answer } from '../client/connection.ts'
import type { Job } from '../client/pool.ts'
import type { Requests } from '../client/requests.ts'
import type { ClickKind, Mix } from '../plan/plan.ts'
import type { TimeLimits } from '../time-limits.ts'
import type { Tally } from './tally.ts'

export type Answered = (answer: Answer, sentMs: number, nowMs: number) => void

export interface CrowdContext {
  readonly random: Random
  readonly mix: Mix
  readonly limits: TimeLimits
  readonly requests: Requests
  readonly tokens: readonly string[]
  readonly tally: Tally
  /** Milliseconds from the opening. */
  readonly nowMs: () => number
  readonly send: (bytes: Buffer, answered: Answered, lost: () => void) => void
  readonly later: (afterMs: number, act: () => void) => void
  /** Records what the server said about an order, for the promises. */
  readonly record: (buyer: number, order: ToldOrder, sentMs: number, nowMs: number) => void
}

/** `undefined`: there was no answer; the outcome is unknown. */
type OnOutcome = (click: Click, answer: Answer | undefined, nowElapsedMs: number) => void

/** One click under way. A class and not a closure: a hundred thousand of them are made in a second. */
export class Click implements Job {
  readonly kind: ClickKind
  readonly buyer: number
  /** When it was planned, from the opening. */
  readonly atMs: number
  readonly bytes: Buffer
  readonly #done: OnOutcome
  sentMs = 0

  constructor(kind: ClickKind, buyer: number, atMs: number, bytes: Buffer, done: OnOutcome) {
    this.kind = kind
    this.buyer = buyer
    this.atMs = atMs
    this.bytes = bytes
    this.#done = done
  }

  answered(answer: Answer, nowMs: number): void {
    this.#done(this, answer, nowMs)
  }

  lost(nowMs: number): void {
    this.#done(this, undefined, nowMs)
  }
}
