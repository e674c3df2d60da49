/** A part of the cluster dies in the middle of the run: when half of the units are told sold or half of the clicks' time has passed. */

import type { Clock } from '../../base/clock.ts'
import type { ClusterPart } from './cluster-file.ts'
import type { FaultRole } from './victim.ts'

export interface FaultPlan {
  readonly role: FaultRole
  /** Kills the part and says which it was; a plain error when it can't. What is sold decides where several would do. */
  readonly strike: (item: string) => ClusterPart
}

/** The part that was killed, and when, in milliseconds from the opening. `missed`: why it was not. */
export interface Struck {
  readonly role: FaultRole
  readonly part: string | null
  readonly atMs: number | null
  readonly missed: string | null
}

interface Midway {
  readonly clock: Clock
  /** The opening, on the clock's `elapsed`. */
  readonly openMs: number
  readonly item: string
  readonly units: number
  readonly lastArrivalMs: number
  /** How many have been told of an order. */
  readonly told: () => number
  /** The run has ended, one way or another. */
  readonly over: AbortSignal
}

const LOOK_MS = 1

export async function strikeMidway(plan: FaultPlan, midway: Midway): Promise<Struck> {
  const { clock, openMs, item, units, lastArrivalMs, told, over } = midway
  const nowMs = () => clock.elapsed() - openMs
  while (told() * 2 < units && nowMs() * 2 < lastArrivalMs) {
    if (over.aborted) return { role: plan.role, part: null, atMs: null, missed: 'the run ended before its moment came' }
    await clock.sleep(LOOK_MS, over)
  }
  try {
    const { name } = plan.strike(item)
    return { role: plan.role, part: name, atMs: Math.round(nowMs()), missed: null }
  } catch (error) {
    return { role: plan.role, part: null, atMs: null, missed: error instanceof Error ? error.message : String(error) }
  }
}

/** For people. */
export function describeFault({ role, part, atMs, missed }: Struck): string {
  if (part === null || atMs === null) return `no ${role} was killed: ${missed}`
  return `${part} was killed ${(atMs / 1000).toFixed(2)} s after the opening`
}
