/**
 * Promise 3: a unit that comes back is on sale again within 2 s. When all is quiet, every unit is either available or in a live order,
 * and the gate shows what the ledger has: left + outbox + releases + moving = available, held = live + outbox + releases.
 *
 * While something is in flight only the age of the releases is judged: sums read at two moments need not agree.
 */

import type { ItemFacts, Snapshot, Violation } from './snapshot.ts'

const BACK_WITHIN_MS = 2_000

export function* noUndersell({ items, quiet }: Snapshot): Iterable<Violation> {
  for (const item of items)
    for (const wrong of wrongs(item, quiet))
      yield { promise: 3, message: `item ${item.item}: ${wrong}`, ids: [item.item] }
}

function* wrongs(item: ItemFacts, quiet: boolean): Iterable<string> {
  const { units, available, gate, outbox, releases, oldestReleaseMs = 0, moving = 0 } = item
  if (oldestReleaseMs > BACK_WITHIN_MS) yield `units that came back ${oldestReleaseMs} ms ago are not on sale yet`
  if (!quiet) return
  const live = item.pending + item.paid
  const between = outbox + releases
  if (available + live !== units) yield `${available} available and ${live} in live orders are not ${units} units`
  if (gate === undefined) return
  if (gate.left + between + moving !== available)
    yield `${gate.left} left at the gate and ${between + moving} in transit are not ${available} available`
  if (gate.held !== live + between)
    yield `the gate holds ${gate.held}, live orders have ${live} and ${between} are in transit`
}
