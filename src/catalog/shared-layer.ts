/**
 * The copies of sales that all processes share, between a process's own memory and the ledger. A copy is a cache and nothing more: it is
 * never the only one, may be gone at any time, and whoever can't reach it reads the ledger.
 *
 * Two things make it more than a box. One asker at a time, over all processes, is sent to read what nobody knows; the others wait for it.
 * And what was read before a change is never kept after it: the lease to read is void with everything else when all is forgotten.
 */

import type { SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'

/** The list of published sales, or one sale by its id. */
export type CatalogKey = typeof LIST | SaleId
export const LIST = 'list'
/** So many of them are in the list. */
export const LISTED_MAX = 200

/** What is known under a key: the list, or one sale, or none: there is no such sale to be shown. */
export type Sales = readonly Sale[]

export type SharedAnswer =
  /** Read from the ledger so long ago, and not older than whoever kept it allowed. */
  | { readonly kind: 'known'; readonly sales: Sales; readonly ageMs: number }
  /** Nobody knows: the asker reads it, and keeps it here or gives the lease back. `old` is what was known before, if it still is. */
  | { readonly kind: 'yours'; readonly lease: string; readonly old: Sales | undefined }
  /** Somebody is reading it. */
  | { readonly kind: 'wait'; readonly old: Sales | undefined }
  /** There is something here that this process does not understand: it reads for itself and keeps nothing. */
  | { readonly kind: 'unreadable'; readonly old: undefined }

export interface SharedLayer {
  /** The lease lapses after `leaseMs`, so that a dead reader holds nobody up. */
  ask(key: CatalogKey, leaseMs: number): Promise<SharedAnswer>
  /**
   * Known to all for `freshMs`, counted from the lease, and kept as `old` until `keepMs` from now. Nothing happens when the lease has
   * lapsed to another, or when something was forgotten since it was given.
   */
  keep(key: CatalogKey, lease: string, sales: Sales, freshMs: number, keepMs: number): Promise<void>
  /** Whoever waits may read at once. */
  giveBack(key: CatalogKey, lease: string): Promise<void>
  /** Something was changed: no copy counts any more, and every process hears of it. */
  forget(): Promise<void>
  /** All was forgotten, or may have been without a word reaching us. */
  onForgotten(listener: () => void): void
}
