/**
 * A cache of sales that all processes share, between their own memory and the ledger. A copy may be gone at any time; a process that
 * can't reach the cache reads the ledger.
 *
 * Guarantees: over all processes, one at a time holds the lease to read a key that is not known, and the others wait for it. A copy that
 * was read before a change is never stored after it: `forgetAll` voids every copy and every lease.
 */

import type { SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'

/** The list of published sales, or one sale by its id. */
export type CatalogKey = typeof LIST | SaleId
export const LIST = 'list'
export const LISTED_MAX = 200

/** Under a key: the list; or one sale; or none, if there is no such published sale. */
export type Sales = readonly Sale[]

export type SharedAnswer =
  /** Read from the ledger `ageMs` ago, and still fresh. */
  | { readonly kind: 'known'; readonly sales: Sales; readonly ageMs: number }
  /** The caller reads the ledger, then calls `put` or `returnLease`. `old`: the expired copy, if there is one. */
  | { readonly kind: 'leased'; readonly lease: string; readonly old: Sales | undefined }
  /** Another process is reading. */
  | { readonly kind: 'wait'; readonly old: Sales | undefined }
  /** The copy may be right for another version of this program: the caller reads the ledger and stores nothing. */
  | { readonly kind: 'unreadable'; readonly old: undefined }

export interface SharedCache {
  /** The lease expires after `leaseMs`: a dead process delays the others for no longer. */
  ask(key: CatalogKey, leaseMs: number): Promise<SharedAnswer>
  /** Fresh for `freshMs`, counted from the lease; kept as `old` for `keepMs` from now. Does nothing if the lease is no longer valid. */
  put(key: CatalogKey, lease: string, sales: Sales, freshMs: number, keepMs: number): Promise<void>
  /** There is nothing to store: a waiting process may read. */
  returnLease(key: CatalogKey, lease: string): Promise<void>
  /** A sale was changed: voids every copy and lease, and notifies every process. */
  forgetAll(): Promise<void>
  /** Called after `forgetAll` in any process, and whenever its message may have been missed. */
  onForgotten(listener: () => void): void
}
