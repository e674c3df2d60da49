/** Sales and their items in the ledger. States move by compare-and-set: a move that no longer fits is refused. */

import type { ItemId, SaleId } from '../domain/ids.ts'
import type { Sale, StoredSaleState } from '../domain/sale.ts'

/** For the log: what an operator changed. */
export interface FieldChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

/** What an edit writes. Other items than these stay as they are, unless all are replaced. */
export interface SaleWrite {
  readonly sale: Sale
  readonly items: 'replaced' | ReadonlySet<ItemId>
  readonly changes: readonly FieldChange[]
}

export type SaleWindow = Pick<Sale, 'state' | 'stateNo' | 'opensAtMs' | 'closesAtMs'>

export interface Sales {
  /** The same id again changes nothing. */
  create(sale: Sale, by: string): Promise<void>
  find(id: SaleId): Promise<Sale | undefined>
  /** What the gate must know of a sale, however many items it has. */
  state(id: SaleId): Promise<SaleWindow | undefined>
  /** Newest opening first; items without their descriptions, unless these are asked for. */
  list(options: {
    readonly drafts: boolean
    readonly limit: number
    readonly descriptions?: boolean
  }): Promise<readonly Sale[]>
  /**
   * Sales that a process of a cluster follows: not a draft, warm-up begun, ended less than an hour ago, or later while its gate has a
   * release or a stock change to do. Read from the primary (E2). What has not changed since the last read is the same object: the list, a
   * sale, an item. Items have no descriptions here. `available` is as it was when something else of the item last changed.
   */
  followed(): Promise<{
    readonly nowMs: number
    readonly sales: readonly Sale[]
    /** Another number than at the last read: the ledger may have been replaced or restored, and have lost what was written to it. */
    readonly anew?: number
  }>
  /** Units that the ledger has left, of items that exist. */
  available(items: readonly ItemId[]): Promise<ReadonlyMap<ItemId, number>>
  /** False: the sale was not in one of the `from` states. */
  move(id: SaleId, from: readonly StoredSaleState[], to: StoredSaleState, by: string, action: string): Promise<boolean>
  /** The warm-up begins at once. */
  warmNow(id: SaleId, by: string): Promise<void>
  /**
   * `decide` gets the sale and the ledger's clock under the sale's lock, which is held until its `write` is committed together with its log
   * line. Without `write` nothing changes. Undefined: there is no such sale.
   */
  edit<R>(
    id: SaleId,
    by: string,
    decide: (sale: Sale, nowMs: number) => { readonly write?: SaleWrite; readonly result: R },
  ): Promise<R | undefined>
  /** False: it is not a draft, or there is no such sale. */
  remove(id: SaleId, by: string): Promise<boolean>
}
