/**
 * What this process itself remembers of sales: each under its key, fresh for a while, and afterwards still there for as long as nobody
 * knows better. Bounded, the one asked for longest ago goes first; ids that don't exist have a bound of their own, so that a stranger who
 * makes them up pushes out no sale.
 *
 * Standings of what is known: fresh → old (its time is up), fresh | old → changed (something was changed since it was read).
 */

import type { Clock } from '../base/clock.ts'
import type { CatalogKey, Sales } from './shared-layer.ts'

export interface Known {
  readonly sales: Sales
  readonly standing: 'fresh' | 'old' | 'changed'
}

interface MemoryLayer {
  look(key: CatalogKey): Known | undefined
  /** How many changes are known of: to be asked before reading, and handed in with what was read. */
  changes(): number
  /** @param asOf what `changes` said before it was read */
  keep(key: CatalogKey, sales: Sales, freshMs: number, asOf: number): void
  /** Something was changed. */
  outdate(): void
}

interface Entry {
  readonly sales: Sales
  readonly untilMs: number
  readonly asOf: number
}

const SALES_MAX = 1_000
const NONES_MAX = 10_000

export function createMemoryLayer(clock: Clock): MemoryLayer {
  const found = new Map<CatalogKey, Entry>()
  const nones = new Map<CatalogKey, Entry>()
  let changes = 0

  return {
    look(key) {
      const kept = found.has(key) ? found : nones
      const entry = kept.get(key)
      if (entry === undefined) return undefined
      kept.delete(key)
      kept.set(key, entry)
      const { sales, untilMs, asOf } = entry
      return { sales, standing: asOf !== changes ? 'changed' : clock.elapsed() < untilMs ? 'fresh' : 'old' }
    },
    changes: () => changes,
    keep(key, sales, freshMs, asOf) {
      const before = found.get(key) ?? nones.get(key)
      // A slow reader must not undo what a later one has found.
      if (before !== undefined && before.asOf > asOf) return
      const [kept, other, max] = sales.length > 0 ? [found, nones, SALES_MAX] : [nones, found, NONES_MAX]
      other.delete(key)
      kept.delete(key)
      kept.set(key, { sales, untilMs: clock.elapsed() + freshMs, asOf })
      if (kept.size > max) kept.delete(kept.keys().next().value!)
    },
    outdate() {
      changes += 1
    },
  }
}
