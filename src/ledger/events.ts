/**
 * The events in the ledger. They are written by the ledger itself, in the transaction of the change; here they get their numbers, are read, and
 * are deleted when they have been kept long enough. Every verb may be repeated, and called by two processes at once.
 */

import type { SaleId } from '../domain/ids.ts'
import type { ShopEvent } from '../domain/shop-event.ts'

export interface EventPage {
  readonly events: readonly ShopEvent[]
  /** The cursor to go on with. It may lie beyond the last event: those of deleted sales are left out. */
  readonly last: number
  /** The lowest number that is kept; newest + 1 when none is. */
  readonly oldest: number
  /** The highest number given. */
  readonly newest: number
  /** Events behind the cursor were deleted already: nothing is returned. */
  readonly expired: boolean
}

export interface EventLog {
  /** The events behind this number, at most so many, in the order of their numbers. 0: from the first. */
  read(after: number, limit: number): Promise<EventPage>
  /** The highest number given, the lowest kept, and how long the oldest event without a number has waited for it. */
  ends(): Promise<Pick<EventPage, 'oldest' | 'newest'> & { readonly waitingMs: number }>
  /** Gives the next committed events their numbers. `more`: there may be others. */
  number(rowsMax: number): Promise<{ readonly newest: number; readonly rows: number; readonly more: boolean }>
  /** Writes `sale.opened`, once for each sale whose window has begun. */
  noteOpened(max: number): Promise<readonly SaleId[]>
  /** Writes `order.closing_soon`, once for each order that is pending so long before its time to pay ends. Returns how many it looked at. */
  noteClosingSoon(beforeMs: number, max: number): Promise<number>
  /** Deletes events of this age, oldest first. Returns how many rows. */
  sweep(keptMs: number, rowsMax: number): Promise<number>
}
