/** A rehearsal's sale is announced far ahead. When every buyer has a ticket, its opening is moved near. */

import { Fault } from '../../base/fault.ts'

/** Longer than any crowd needs for its tickets, and within the default warm-up: the gate is ready at once. */
export const ANNOUNCED_AHEAD_MS = 25 * 60_000
const AHEAD_MS_MAX = 160_000
/** A server that took long for one change of the opening may take longer for the next. */
const SLOWNESS = 5

/**
 * Moves the opening near and returns it: at least `leastMs` from when the answer came. A first change, to far ahead once more, shows how
 * long the server takes for one. If it takes longer all the same, the next opening is twice as far away; that fails once the sale has opened.
 */
export async function openSoon(
  leastMs: number,
  serverNow: () => number,
  move: (opensAtMs: number) => Promise<void>,
): Promise<number> {
  const fromMs = serverNow()
  await move(fromMs + ANNOUNCED_AHEAD_MS)
  const tookMs = serverNow() - fromMs
  for (let aheadMs = leastMs + Math.max(leastMs, SLOWNESS * tookMs); ; aheadMs *= 2) {
    const opensAtMs = serverNow() + aheadMs
    try {
      await move(opensAtMs)
      if (opensAtMs - serverNow() >= leastMs) return opensAtMs
    } catch (error) {
      if (!isTooLate(error) || aheadMs > AHEAD_MS_MAX) throw error
    }
  }
}

/** The request arrived after the opening it asked for, or the server was busy. */
function isTooLate(error: unknown): boolean {
  return error instanceof Fault && (error.retryable || error.code === 'not_changeable')
}
