/**
 * When a Checkout Session ends: at `payByMs`, or at Stripe's earliest, 30 minutes after it is made, whichever is later; never past Stripe's
 * latest, 24 hours. A minute is kept from both bounds, for the way of the request.
 *
 * Rounded to steps of two minutes where the time of the call decides: a start that is sent again a moment later then asks for the same, and
 * its idempotency key fits.
 */

const MINUTE_MS = 60_000
const EARLIEST_MS = 30 * MINUTE_MS
const LATEST_MS = 24 * 60 * MINUTE_MS
const ROOM_MS = MINUTE_MS
const STEP_MS = 2 * MINUTE_MS

/**
 * In Unix seconds.
 * @param nowMs Stripe's time
 * @param stepsBack what a start so many steps ago (or ahead, where it is negative) would have asked for
 */
export function sessionExpiry(payByMs: number, nowMs: number, stepsBack = 0): number {
  const fromMs = nowMs - stepsBack * STEP_MS
  const earliestMs = Math.ceil((fromMs + EARLIEST_MS + ROOM_MS) / STEP_MS) * STEP_MS
  const latestMs = Math.floor((fromMs + LATEST_MS - ROOM_MS) / STEP_MS) * STEP_MS
  return Math.floor(Math.min(Math.max(payByMs, earliestMs), latestMs) / 1000)
}
