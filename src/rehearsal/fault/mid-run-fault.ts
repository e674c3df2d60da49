/** Kills a part of the cluster in the middle of the run: when half of the units are sold, or half of the clicks' time has passed. */

import type { Clock } from '../../base/clock.ts'
import type { ClusterPart, FaultRole } from './cluster.ts'

export interface FaultPlan {
  readonly role: FaultRole
  /** Kills a part and returns it; throws when it can't. The item decides which of several Redis servers. */
  readonly kill: (item: string) => ClusterPart
}

/** Which part was killed, and when, in milliseconds from the opening; or why none was. */
export interface MidRunFault {
  readonly role: FaultRole
  readonly part: string | null
  readonly atMs: number | null
  readonly missed: string | null
}

interface Run {
  readonly clock: Clock
  /** The opening, on the clock's `elapsed`. */
  readonly openMs: number
  readonly item: string
  readonly units: number
  readonly lastArrivalMs: number
  /** Buyers who were told of an order. */
  readonly toldCount: () => number
  readonly over: AbortSignal
}

export const NOT_REACHED = 'the run ended before its moment came'
const POLL_MS = 1

export async function killMidRun({ role, kill }: FaultPlan, run: Run): Promise<MidRunFault> {
  const { clock, openMs, item, units, lastArrivalMs, toldCount, over } = run
  const nowMs = () => clock.elapsed() - openMs
  const missed = (why: string) => ({ role, part: null, atMs: null, missed: why })
  while (toldCount() * 2 < units && nowMs() * 2 < lastArrivalMs) {
    if (over.aborted) return missed(NOT_REACHED)
    await clock.sleep(POLL_MS, over)
  }
  try {
    const { name } = kill(item)
    return { role, part: name, atMs: Math.round(nowMs()), missed: null }
  } catch (error) {
    return missed(error instanceof Error ? error.message : String(error))
  }
}

export function describeFault({ role, part, atMs, missed }: MidRunFault): string {
  if (part === null || atMs === null) return `no ${role} was killed: ${missed}`
  return `${part} was killed ${(atMs / 1000).toFixed(2)} s after the opening`
}
