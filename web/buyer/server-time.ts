/**
 * The server's clock, on this device. Several calls are timed and the one with the shortest round trip is believed: its error is at most
 * half of that trip. Counted on from there by the monotonic clock, so a device whose own clock is wrong, or is set while the page is
 * open, shows the same time as every other. A sleeping device may stop that clock: whoever wakes up measures again.
 */

import { getJson } from './api.ts'
import { store } from './store.ts'

interface Measured {
  /** Server time minus monotonic time. */
  readonly offsetMs: number
  readonly roundTripMs: number
  readonly atMs: number
}

const CALLS = 5
/** A good measurement is kept so long before a worse one may replace it: clocks drift apart. */
const BELIEVED_MS = 5 * 60_000

let best: Measured | undefined

/** Unix milliseconds by the server's clock. Before the first measurement what the device believes: not to be shown to anybody. */
export function serverNow(): number {
  return best === undefined ? Date.now() : performance.now() + best.offsetMs
}

export function serverTimeKnown(): boolean {
  return best !== undefined
}

/**
 * Each call counts as soon as it is answered, so there is a first idea after one round trip and a better one soon after. `afresh` forgets
 * what was measured before, as after a sleep.
 */
export async function measureServerTime(calls = CALLS, afresh = false): Promise<void> {
  let forget = afresh
  for (let i = 0; i < calls; i++) {
    const sentMs = performance.now()
    const reply = await getJson<{ unixMs: number }>('/api/time')
    if (reply.kind !== 'ok' || !Number.isFinite(reply.body.unixMs)) continue
    const atMs = performance.now()
    const roundTripMs = atMs - sentMs
    const stale = best === undefined || forget || atMs - best.atMs > BELIEVED_MS
    forget = false
    if (!stale && roundTripMs > best!.roundTripMs) continue
    best = { offsetMs: reply.body.unixMs + roundTripMs / 2 - atMs, roundTripMs, atMs }
    store.changed()
  }
}
