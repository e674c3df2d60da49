/**
 * The server's clock, on this device. Several calls are timed and the one with the shortest round trip is used: its error is at most half
 * of that trip. From there the monotonic clock counts on, so a device whose own clock is wrong, or is set while the page is open, shows the
 * same time as all others. A sleeping device may stop that clock, so it measures again when it wakes up.
 *
 * While no server answers, the `Date` of the proxy that says so is used: right to the second, enough for a countdown, and replaced by the
 * first measurement.
 */

import { getJson } from '../api.ts'
import { store } from '../store.ts'

interface Measured {
  /** Server time minus monotonic time. */
  readonly offsetMs: number
  readonly roundTripMs: number
  readonly atMs: number
}

const CALLS = 5
/** A good measurement is kept for so long before a worse one may replace it: clocks drift. */
const VALID_MS = 5 * 60_000

/** Instead of a round trip: every measurement is better. */
const ROUGH = Number.POSITIVE_INFINITY
/** A `Date` is cut to the second. */
const DATE_OFF_MS = 500

let best: Measured | undefined

/** Unix milliseconds by the server's clock. Before the first measurement it is the device's time, which must not be shown. */
export function serverNow(): number {
  return best === undefined ? Date.now() : performance.now() + best.offsetMs
}

export function serverTimeKnown(): boolean {
  return best !== undefined
}

/** By a server, not only by a proxy's `Date`. */
export function serverTimeMeasured(): boolean {
  return (best?.roundTripMs ?? ROUGH) < ROUGH
}

/**
 * Each call counts as soon as it is answered, so there is a first value after one round trip and a better one soon after. `afresh` discards
 * earlier measurements, as after a sleep.
 */
export async function measureServerTime(calls = CALLS, afresh = false): Promise<void> {
  let discard = afresh
  for (let i = 0; i < calls; i++) {
    const sentMs = performance.now()
    const reply = await getJson<{ unixMs: number }>('/api/time')
    const atMs = performance.now()
    if (reply.kind === 'lost' && best === undefined && reply.dateMs! > 0) {
      best = { offsetMs: reply.dateMs! + DATE_OFF_MS - atMs, roundTripMs: ROUGH, atMs }
      store.changed()
    }
    if (reply.kind !== 'ok' || !Number.isFinite(reply.body.unixMs)) continue
    const roundTripMs = atMs - sentMs
    const stale = best === undefined || discard || atMs - best.atMs > VALID_MS
    discard = false
    if (!stale && roundTripMs > best!.roundTripMs) continue
    best = { offsetMs: reply.body.unixMs + roundTripMs / 2 - atMs, roundTripMs, atMs }
    store.changed()
  }
}
