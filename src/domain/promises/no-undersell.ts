/**
 * Promise 3: a unit that comes back is on sale again within 2 s. When all is quiet, every unit is either available or in a live order,
 * and the gate shows what the ledger has: left + outbox + releases + moving = available, held = live + outbox + releases.
 *
 * While something is in flight only the age of the releases is judged: sums read at two moments need not agree.
 */

import type { ItemFacts, Snapshot } from './snapshot.ts'
import type { Violation } from './violation.ts'

const BACK_WITHIN_MS = 2_000

export function noUndersell(snapshot: Snapshot): Violation[] {
  const found: Violation[] = []
  for (const item of snapshot.items) {
    const wrongs = snapshot.quiet ? [late(item), ...sums(item)] : [late(item)]
    for (const wrong of wrongs) {
      if (wrong !== undefined) found.push({ promise: 3, message: `item ${item.item}: ${wrong}`, ids: [item.item] })
    }
  }
  return found
}

function late(item: ItemFacts): string | undefined {
  const ms = item.oldestReleaseMs ?? 0
  return ms <= BACK_WITHIN_MS ? undefined : `units that came back ${ms} ms ago are not on sale yet`
}

function sums(item: ItemFacts): (string | undefined)[] {
  const live = item.pending + item.paid
  const { units, available, gate, outbox, releases, moving = 0 } = item
  const between = outbox + releases
  return [
    available + live === units ? undefined : `${available} available and ${live} in live orders are not ${units} units`,
    gate === undefined || gate.left + between + moving === available
      ? undefined
      : `${gate.left} left at the gate and ${between + moving} in transit are not ${available} available`,
    gate === undefined || gate.held === live + between
      ? undefined
      : `the gate holds ${gate.held}, live orders have ${live} and ${between} are in transit`,
  ]
}
