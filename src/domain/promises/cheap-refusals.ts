/**
 * Promise 7: the crowd that can't win costs no network round trip behind the edge. What it costs in CPU is measured by the bench, not
 * judged here: microseconds depend on the machine, round trips don't.
 */

import type { Snapshot } from './snapshot.ts'
import type { Violation } from './violation.ts'

export function cheapRefusals({ refusals }: Snapshot): Violation[] {
  if (refusals.networkCalls === 0) return []
  const message = `${refusals.refusedAtEdge} refusals at the edge cost ${refusals.networkCalls} network calls`
  return [{ promise: 7, message, ids: [] }]
}
