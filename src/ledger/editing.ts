/** Sales changed after they were made. What may be changed is decided by the caller, on the sale as it is and under its lock. */

import type { ItemId, SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'

/** For the log: what an operator changed. */
export interface FieldChange {
  readonly field: string
  readonly from: unknown
  readonly to: unknown
}

/** What is to be written. Other items than these stay as they are, unless all are replaced. */
export interface SaleWrite {
  readonly sale: Sale
  readonly items: 'replaced' | ReadonlySet<ItemId>
  readonly changes: readonly FieldChange[]
}

export interface Editing {
  /**
   * `decide` sees the sale and the ledger's clock; nobody moves or edits the sale until what it decides is written, together with the
   * line in the log. Without `write` nothing is changed. Undefined: there is no such sale.
   */
  edit<R>(
    id: SaleId,
    by: string,
    decide: (sale: Sale, nowMs: number) => { readonly write?: SaleWrite; readonly result: R },
  ): Promise<R | undefined>
  /** False when it is no draft, or not there. */
  remove(id: SaleId, by: string): Promise<boolean>
}
