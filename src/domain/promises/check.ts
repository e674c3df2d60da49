/**
 * All promises over one snapshot. The same code judges tests, simulations, reconciliation and the operations page.
 * Pure: no clock, no I/O; an empty list means that nothing in these facts breaks a promise, not that everything was read.
 */

import { cheapRefusals } from './cheap-refusals.ts'
import { everythingBounded } from './everything-bounded.ts'
import { firstCome } from './first-come.ts'
import { noOversell } from './no-oversell.ts'
import { noUndersell } from './no-undersell.ts'
import { nothingLost } from './nothing-lost.ts'
import { oneLiveOrder } from './one-live-order.ts'
import { paidOrReleased } from './paid-or-released.ts'
import type { Snapshot } from './snapshot.ts'
import type { Violation } from './violation.ts'

/** In the order of their numbers. */
const PROMISES = [
  noOversell,
  nothingLost,
  noUndersell,
  oneLiveOrder,
  firstCome,
  paidOrReleased,
  cheapRefusals,
  everythingBounded,
] as const satisfies readonly ((snapshot: Snapshot) => Violation[])[]

export function checkPromises(snapshot: Snapshot): Violation[] {
  return PROMISES.flatMap(check => check(snapshot))
}
