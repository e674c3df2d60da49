/**
 * Notices a server that answers nothing at all: frozen, or out of reach. Any answer to anybody ends the silence; giving up on one request
 * and sending the next does not. A time in which nobody asks is no silence. Knows nothing of clocks: whoever asks says what time it is.
 */

/** Everybody who asks again does so sooner. */
const PAUSE_MS = 5_000

export class Silence {
  #open = 0
  /** Of the last answer, or of the first request after a time without any; undefined while nobody waits. */
  #sinceMs: number | undefined
  #lostMs = Number.NEGATIVE_INFINITY

  /** How many requests are on their way. */
  get open(): number {
    return this.#open
  }

  sent(nowMs: number): void {
    const paused = this.#open === 0 && nowMs - this.#lostMs > PAUSE_MS
    if (this.#sinceMs === undefined || paused) this.#sinceMs = nowMs
    this.#open += 1
  }

  answered(nowMs: number): void {
    this.#open -= 1
    this.#sinceMs = this.#open > 0 ? nowMs : undefined
  }

  lost(nowMs: number): void {
    this.#open -= 1
    this.#lostMs = nowMs
  }

  /** For how long those who wait have heard nothing. */
  lastedMs(nowMs: number): number {
    return this.#open === 0 || this.#sinceMs === undefined ? 0 : nowMs - this.#sinceMs
  }
}
