/** One click on its way. A class and not a closure: a hundred thousand of them are made in a second. */

import type { Answer } from '../client/connection.ts'
import type { Job } from '../client/pool.ts'
import type { ClickKind } from '../plan/plan.ts'

interface Listener {
  /** What a click came to. `undefined`: there was no answer, anything may have happened. */
  heard(click: Click, answer: Answer | undefined, nowElapsedMs: number): void
}

export class Click implements Job {
  readonly #listener: Listener
  readonly kind: ClickKind
  readonly buyer: number
  /** When it was meant to be made, from the opening. */
  readonly atMs: number
  readonly bytes: Buffer
  sentMs = 0

  constructor(listener: Listener, kind: ClickKind, buyer: number, atMs: number, bytes: Buffer) {
    this.#listener = listener
    this.kind = kind
    this.buyer = buyer
    this.atMs = atMs
    this.bytes = bytes
  }

  answered(answer: Answer, nowMs: number): void {
    this.#listener.heard(this, answer, nowMs)
  }

  lost(nowMs: number): void {
    this.#listener.heard(this, undefined, nowMs)
  }
}
