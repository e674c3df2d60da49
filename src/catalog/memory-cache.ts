/**
 * Sales in the memory of this process. Expired copies stay until there is a newer one. Bounded, least recently used first; ids that
 * don't exist have a bound of their own, so that made-up ids push out no sale.
 *
 * States of a copy: fresh → expired (its time is up); fresh | expired → changed (a sale was changed after it was read).
 */

import type { Clock } from '../base/clock.ts'
import type { CatalogKey, Sales } from './shared-cache.ts'

export interface Known {
  readonly sales: Sales
  readonly state: 'fresh' | 'expired' | 'changed'
}

interface Entry {
  readonly sales: Sales
  readonly untilMs: number
  readonly changeNo: number
}

const SALES_MAX = 1_000
const MISSING_MAX = 10_000

export class MemoryCache {
  readonly #clock: Clock
  readonly #found = new Map<CatalogKey, Entry>()
  readonly #missing = new Map<CatalogKey, Entry>()
  /** How many changes are known: read it before reading a sale, and pass it to `put` with what was read. */
  changeNo = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get(key: CatalogKey): Known | undefined {
    const entries = this.#found.has(key) ? this.#found : this.#missing
    const entry = entries.get(key)
    if (entry === undefined) return undefined
    entries.delete(key)
    entries.set(key, entry)
    const { sales, untilMs, changeNo } = entry
    if (changeNo !== this.changeNo) return { sales, state: 'changed' }
    return { sales, state: this.#clock.elapsed() < untilMs ? 'fresh' : 'expired' }
  }

  put(key: CatalogKey, sales: Sales, freshMs: number, changeNo: number): void {
    const before = this.#found.get(key) ?? this.#missing.get(key)
    // A slow reader must not overwrite what a later one has read.
    if (before !== undefined && before.changeNo > changeNo) return
    const isFound = sales.length > 0
    this.#found.delete(key)
    this.#missing.delete(key)
    const entries = isFound ? this.#found : this.#missing
    entries.set(key, { sales, untilMs: this.#clock.elapsed() + freshMs, changeNo })
    if (entries.size > (isFound ? SALES_MAX : MISSING_MAX)) entries.delete(entries.keys().next().value!)
  }

  /** A sale was changed. */
  outdate(): void {
    this.changeNo += 1
  }
}
