/** How two clocks differ, as far as asking can tell. */

import type { Clock } from '../base/clock.ts'

/** One answer may have been held up on its way in one direction only; the quickest of a few was hardly. */
const ASKS = 5

/** How far that clock is ahead of ours: halfway between asking and being told. */
export async function aheadMs(clock: Clock, ask: () => Promise<number>): Promise<number> {
  let best = { ahead: 0, took: Number.POSITIVE_INFINITY }
  for (let i = 0; i < ASKS; i++) {
    const before = clock.now()
    const there = await ask()
    const after = clock.now()
    if (after - before < best.took) best = { ahead: there - (before + after) / 2, took: after - before }
  }
  return best.ahead
}
