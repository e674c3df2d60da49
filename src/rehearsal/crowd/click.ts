/** One click under way. A class and not a closure: a hundred thousand of them are made in a second. */

import type { Answer } from '../client/connection.ts'
import type { Job } from '../client/pool.ts'
import type { ClickKind } from '../plan/plan.ts'

/** `undefined`: there was no answer; the outcome is unknown. */
type OnOutcome = (click: Click, answer: Answer | undefined, nowElapsedMs: number) => void

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
