/**
 * What a clock that steps back means for the window. A little back, as after a failover to a server whose clock is behind, it counts as
 * standing still: what was open does not become early, what was over does not open again. Further back, it was wrong before and has been set
 * right: it counts at once, or a sale would be over for as long as the clock was ahead. `lib.lua` has the same rule for the gate on Redis.
 */

/** Two servers may each be a second off the ledger's clock, in opposite directions, before an item is fenced. */
export const STEP_BACK_MS_MAX = 2_000

export function outwaitStepBack(lastMs: number, nowMs: number): number {
  return nowMs < lastMs && lastMs - nowMs <= STEP_BACK_MS_MAX ? lastMs : nowMs
}
