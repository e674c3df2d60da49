/** Promise 8: everything is bounded. A value above its bound breaks it, and so does a bound that is none. */

import type { Snapshot } from './snapshot.ts'
import type { Violation } from './violation.ts'

export function everythingBounded({ bounds }: Snapshot): Violation[] {
  const found: Violation[] = []
  for (const { name, value, max } of bounds) {
    if (!Number.isFinite(max)) found.push({ promise: 8, message: `${name} has no bound`, ids: [name] })
    else if (!(value <= max))
      found.push({ promise: 8, message: `${name} is ${value}, its bound is ${max}`, ids: [name] })
  }
  return found
}
