/**
 * Detects a server that answers nothing at all: frozen or unreachable. Any answer ends the silence; giving up on one request and sending
 * the next does not. A time without open requests is no silence. Has no clock: the caller passes the time.
 */

/** Longer than any pause between two tries of a buyer. */
const PAUSE_MS = 5_000

export class Silence {
  /** Requests without an answer. */
  open = 0
  /** Time of the last answer, or of the first request after a pause; undefined while no request is open. */
  #sinceMs: number | undefined
  #lostMs = Number.NEGATIVE_INFINITY

  sent(nowMs: number): void {
    const paused = this.open === 0 && nowMs - this.#lostMs > PAUSE_MS
    if (this.#sinceMs === undefined || paused) this.#sinceMs = nowMs
    this.open += 1
  }

  answered(nowMs: number): void {
    this.open -= 1
    this.#sinceMs = this.open > 0 ? nowMs : undefined
  }

  lost(nowMs: number): void {
    this.open -= 1
    this.#lostMs = nowMs
  }

  /** How long the open requests have been without any answer. */
  lastedMs(nowMs: number): number {
    return this.open === 0 || this.#sinceMs === undefined ? 0 : nowMs - this.#sinceMs
  }
}
