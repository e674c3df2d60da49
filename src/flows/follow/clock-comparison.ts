/**
 * The gate's clock compared with the ledger's; where the gate lives on several servers, the fastest and the slowest of their clocks. Each
 * reading is a time between two moments of our own monotonic clock, so what is known is how far that clock is ahead of ours, within bounds;
 * the two disagree only if no pair within the bounds comes nearer than allowed. This process's own wall clock is never read: it may be wrong
 * by hours.
 */

const SKEW_MS_MAX = 1_000
/** Older readings are not compared. */
const FRESH_MS = 5_000

interface Reading {
  /** That clock minus ours lies between these. */
  readonly least: number
  readonly most: number
  readonly atMs: number
}

export function createClockComparison() {
  let gate: Reading | undefined
  let behindMs = 0
  let ledger: Reading | undefined

  const reading = (nowMs: number, askedAtMs: number, answeredAtMs: number): Reading => ({
    least: nowMs - answeredAtMs,
    most: nowMs - askedAtMs,
    atMs: askedAtMs,
  })

  return {
    /** @param slowerMs how far the slowest of its servers is behind `nowMs` */
    gate(nowMs: number, askedAtMs: number, answeredAtMs: number, slowerMs = 0): void {
      gate = reading(nowMs, askedAtMs, answeredAtMs)
      behindMs = slowerMs
    },
    ledger(nowMs: number, askedAtMs: number, answeredAtMs: number): void {
      ledger = reading(nowMs, askedAtMs, answeredAtMs)
    },
    /** How long ago the gate's clock was last read. */
    gateSilentMs: (atMs: number): number => (gate === undefined ? Number.POSITIVE_INFINITY : atMs - gate.atMs),
    /** By how much a clock of the gate is ahead of the ledger's (or behind, negative), if that is too much for both to be right. */
    skewedMs(atMs: number): number | undefined {
      if (gate === undefined || ledger === undefined) return undefined
      if (atMs - gate.atMs > FRESH_MS || atMs - ledger.atMs > FRESH_MS) return undefined
      if (gate.least - ledger.most > SKEW_MS_MAX) return Math.round(gate.least - ledger.most)
      const slowestMost = gate.most - behindMs
      return ledger.least - slowestMost > SKEW_MS_MAX ? -Math.round(ledger.least - slowestMost) : undefined
    },
  }
}
