/**
 * How hard a challenge is: the sale's own difficulty, doubled for every earlier attempt of the buyer (each of them is an order that was
 * closed), for every doubling of the asks from one network, and of those from all. So a buyer at home waits a moment, and a house with a
 * thousand accounts a thousand moments that get longer.
 *
 * Counts over a minute, in fixed memory. Each process counts the asks that it gets; where several edges share the load, every bound is divided by
 * their number, so that the difficulty is that of the whole, as far as the load is spread evenly. A network is the first 24 bits of an IPv4
 * address, 48 of IPv6.
 */

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { networkOf } from '../networks.ts'
import { createSlidingWindow } from '../rate/sliding-window.ts'

const NETWORKS_MAX = 16_384
const EXACT_MAX = 65_536
const WINDOW_MS = 60_000
const DOUBLINGS_MAX = 5
/** A school or an office behind one address stays below: it waits a few times as long, and is not refused. */
const NETWORK_ASKS = 100
const ALL_ASKS = 60_000
const DIFFICULTY_MAX = 128

interface Options {
  readonly clock: Clock
  readonly random: Random
  /** How many edges share the load, this one included. */
  readonly edges: () => number
}

export function createDifficulty({ clock, random, edges }: Options) {
  const networks = countedFrom(NETWORK_ASKS, NETWORKS_MAX, edges, random)
  const all = countedFrom(ALL_ASKS, 1, edges, random)
  return {
    /** Counts the ask. @param base the sale's difficulty @param address as `client-address.ts` writes it */
    next(base: number, address: string, attempt: number): number {
      const nowMs = clock.elapsed()
      const doublings =
        networks(networkOf(address) ?? address, nowMs) + all('', nowMs) + Math.min(DOUBLINGS_MAX, attempt - 1)
      return Math.max(base, Math.min(DIFFICULTY_MAX, base * 2 ** doublings))
    },
  }
}

/** How often the count of a key has doubled since `first`; counts it. */
function countedFrom(first: number, keysMax: number, edges: () => number, random: Random) {
  const max = first * 2 ** DOUBLINGS_MAX
  const counts = createSlidingWindow({ count: max, windowMs: WINDOW_MS }, keysMax, EXACT_MAX, random)
  return (key: string, nowMs: number): number => {
    let doublings = 0
    const share = first / edges()
    while (doublings < DOUBLINGS_MAX && !counts.hasRoom(key, nowMs, Math.max(1, Math.ceil(share * 2 ** doublings))))
      doublings += 1
    if (counts.hasRoom(key, nowMs)) counts.take()
    return doublings
  }
}
