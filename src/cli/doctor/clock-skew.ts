/** How far two clocks differ, as far as requests can tell, and what the doctor says about it. */

import type { Clock } from '../../base/clock.ts'
import { bad, type Finding, good, odd } from './finding.ts'

/** One answer may have been delayed in one direction only; the quickest of a few hardly was. */
const ASKS = 5
const SKEW_MS_ODD = 100
/** Beyond it no item is sold. */
const SKEW_MS_BAD = 1_000
const ON_TIME = 'keep both machines on time with NTP (chrony, systemd-timesyncd)'

/** How far that clock is ahead of ours: halfway between asking and the answer. */
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

export function skewFinding(what: string, skewMs: number, why: string): Finding {
  const skew = Math.round(Math.abs(skewMs))
  const found = `${skew} ms apart from the ledger's`
  if (skew < SKEW_MS_ODD) return good(what, found)
  return (skew < SKEW_MS_BAD ? odd : bad)(what, found, `${why}: ${ON_TIME}`)
}
