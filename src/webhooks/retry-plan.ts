/**
 * When a failed delivery is tried again: the wait doubles from seconds to half an hour, with jitter, so that deliveries that failed together do
 * not come back together. For how long that goes on is up to the caller.
 */

import type { Random } from '../base/random.ts'

const FIRST_MS = 5_000
const LONGEST_MS = 30 * 60_000

/** @param tries how many have failed so far; 1 after the first */
export function retryAfterMs(random: Random, tries: number, longestMs = LONGEST_MS): number {
  const ceilingMs = Math.min(FIRST_MS * 2 ** Math.min(tries - 1, 30), longestMs)
  // Never at once: half of the wait is certain.
  return Math.round(ceilingMs * (0.5 + random.next() / 2))
}
