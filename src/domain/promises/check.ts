/**
 * All promises over one snapshot. The same code judges tests, simulations, reconciliation and the operations page.
 * Pure: no clock, no I/O; an empty list means that nothing in these facts breaks a promise, not that everything was read.
 */

import { firstCome } from './first-come.ts'
import { noOversell } from './no-oversell.ts'
import { noUndersell } from './no-undersell.ts'
import { nothingLost } from './nothing-lost.ts'
import { oneLiveOrder } from './one-live-order.ts'
import { paidOrReleased } from './paid-or-released.ts'
import type { Snapshot, Violation } from './snapshot.ts'

/** In the order of their numbers. */
const PROMISES: readonly ((snapshot: Snapshot) => Iterable<Violation>)[] = [
  noOversell,
  nothingLost,
  noUndersell,
  oneLiveOrder,
  firstCome,
  paidOrReleased,
  cheapRefusals,
  everythingBounded,
]

export function checkPromises(snapshot: Snapshot): Violation[] {
  return PROMISES.flatMap(check => [...check(snapshot)])
}

/**
 * Promise 7: the crowd that can't win costs no network round trip behind the edge. What it costs in CPU is measured by the bench, not
 * judged here: microseconds depend on the machine, round trips don't.
 */
function* cheapRefusals({ refusals: { refusedAtEdge, networkCalls } }: Snapshot): Iterable<Violation> {
  const message = `${refusedAtEdge} refusals at the edge cost ${networkCalls} network calls`
  if (networkCalls !== 0) yield { promise: 7, message, ids: [] }
}

/** Promise 8: everything is bounded. A value above its bound breaks it, and so does a bound that is none. */
function* everythingBounded({ bounds }: Snapshot): Iterable<Violation> {
  for (const { name, value, max } of bounds) {
    if (!Number.isFinite(max)) yield { promise: 8, message: `${name} has no bound`, ids: [name] }
    else if (!(value <= max)) yield { promise: 8, message: `${name} is ${value}, its bound is ${max}`, ids: [name] }
  }
}
