/** The end of every test of this kind: the numbers on one line, and not a single promise broken. */

import { expect } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { checkPromises } from '../../src/domain/promises/check.ts'
import type { Snapshot } from '../../src/domain/promises/snapshot.ts'

const VIOLATIONS_SHOWN = 20

/** `sinceMs` is when the test began, on the monotonic clock. */
export function assertPromises(snapshot: Snapshot, sinceMs: number): void {
  const counts = Map.groupBy(snapshot.told, one => one.answer.kind)
  const answers = [...counts].map(([kind, told]) => `${told.length} ${kind}`).join(', ')
  const live = snapshot.items.reduce((sum, item) => sum + item.pending + item.paid, 0)
  const units = snapshot.items.reduce((sum, item) => sum + item.units, 0)
  const bounds = snapshot.bounds.map(bound => `${bound.name} ${bound.value}/${bound.max}`).join(', ')
  const seconds = ((systemClock.elapsed() - sinceMs) / 1000).toFixed(1)
  console.log(`  ${live} of ${units} units sold; answers: ${answers}; ${bounds}; ${seconds} s`)

  const violations = checkPromises(snapshot)
  const lines = violations.map(violation => `promise ${violation.promise}: ${violation.message}`)
  if (lines.length > VIOLATIONS_SHOWN)
    lines.splice(VIOLATIONS_SHOWN, Number.POSITIVE_INFINITY, `… ${violations.length} in all`)
  expect(lines).toEqual([])
}
