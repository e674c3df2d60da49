/**
 * The log of what fails again and again: one line when it begins, with the error; a count every half minute while it lasts; one line when it
 * ends. A failure of another kind than those before is a line of its own, so that a second cause does not hide behind the first.
 * Bounded by time, however often it fails, and by the number of kinds.
 *
 * States: working → failing (the first failure) → working (a success, when nothing has failed for `QUIET_MS`: what fails and works in turn
 * is one outage).
 */

import type { Clock } from './clock.ts'
import { Fault } from './fault.ts'
import type { Log } from './log.ts'
import type { OutageEvent } from './log-events.ts'

type Fields = Readonly<Record<string, unknown>>

interface OutageTexts {
  /** In each of its lines, with the `phase`: begins, lasts or ends. */
  readonly event: OutageEvent
  readonly begins: string
  readonly lasts: string
  readonly ends: string
}

const QUIET_MS = 5_000
const COUNT_EVERY_MS = 30_000
/** Later kinds of the same outage are only counted. */
const KINDS_MAX = 8

export class OutageLog {
  readonly #clock: Clock
  readonly #log: Log
  readonly #fields: Fields
  readonly #texts: OutageTexts
  readonly #kinds = new Set<string>()
  #failed = 0
  #beganMs = 0
  #failedMs = 0
  #countedMs = 0

  /** @param fields in each of its lines */
  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, fields: Fields, texts: OutageTexts) {
    this.#clock = clock
    this.#log = log
    this.#fields = fields
    this.#texts = texts
  }

  /** @param fields in the line of the first failure of its kind */
  failed(error?: unknown, fields?: () => Fields): void {
    const nowMs = this.#clock.elapsed()
    if (this.#failed === 0) {
      this.#beganMs = nowMs
      this.#countedMs = nowMs
    }
    this.#failed += 1
    this.#failedMs = nowMs
    const kind = kindOf(error)
    if (!this.#kinds.has(kind) && this.#kinds.size < KINDS_MAX) {
      this.#kinds.add(kind)
      const code = error instanceof Fault ? { code: error.code } : {}
      const line = {
        ...this.#fields,
        ...fields?.(),
        ...this.#phase('begins'),
        ...code,
        ...(error !== undefined && { err: error }),
      }
      if (error === undefined || error instanceof Fault) this.#log.warn(line, this.#texts.begins)
      else this.#log.error(line, this.#texts.begins)
    } else if (nowMs - this.#countedMs >= COUNT_EVERY_MS) {
      this.#countedMs = nowMs
      this.#log.warn(this.#count(nowMs, 'lasts'), this.#texts.lasts)
    }
  }

  worked(): void {
    if (this.#failed === 0 || this.#clock.elapsed() - this.#failedMs < QUIET_MS) return
    this.#log.warn(this.#count(this.#failedMs, 'ends'), this.#texts.ends)
    this.#failed = 0
    this.#kinds.clear()
  }

  #phase(phase: keyof Omit<OutageTexts, 'event'>) {
    return { event: this.#texts.event, phase }
  }

  #count(untilMs: number, phase: 'lasts' | 'ends') {
    return { ...this.#fields, ...this.#phase(phase), failed: this.#failed, forMs: Math.round(untilMs - this.#beganMs) }
  }
}

/** Messages differ from one failure to the next; codes and names do not. */
function kindOf(error: unknown): string {
  if (error instanceof Fault) return error.code
  return error instanceof Error ? error.name : typeof error
}
