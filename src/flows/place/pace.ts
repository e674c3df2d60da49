/**
 * Peak shaving: how much a worker takes from the log at once, from how fast the ledger answers. A slow answer halves the batch and takes a
 * lane away; quick answers give back a little of each. What is not taken waits in the log, where waiting costs nothing.
 */

const ASKS_MAX = 500
const ASKS_MIN = 25
const ASKS_STEP = 25
const LANES_MAX = 8
/** A batch that takes longer makes buyers wait: the ledger has more to do than it bears. */
const SLOW_MS = 250
/** Answers of batches that were under way together count once. */
const SLOW_EVERY_MS = 500

export type Pace = ReturnType<typeof createPace>

/** @param elapsed monotonic, ms */
export function createPace(elapsed: () => number) {
  let asks = ASKS_MAX
  let lanes = LANES_MAX
  let slowAtMs = Number.NEGATIVE_INFINITY
  return {
    /** Reservations in one batch. */
    asksMax: () => asks,
    /** Batches side by side. */
    lanesMax: () => lanes,
    /** The ledger has answered, or failed, after so long. */
    answered(tookMs: number): void {
      if (tookMs < SLOW_MS) {
        asks = Math.min(ASKS_MAX, asks + ASKS_STEP)
        if (asks === ASKS_MAX) lanes = Math.min(LANES_MAX, lanes + 1)
        return
      }
      if (elapsed() - slowAtMs < SLOW_EVERY_MS) return
      slowAtMs = elapsed()
      asks = Math.max(ASKS_MIN, Math.floor(asks / 2))
      lanes = Math.max(1, lanes - 1)
    },
  }
}
