/**
 * The events in the ledger. They are written by the ledger itself, in the transaction of the change; here they get their numbers, are read, and
 * are deleted when they have been kept long enough. Every verb may be repeated, and called by two processes at once.
 */

import type { BuyerId, OrderId, SaleId } from '../domain/ids.ts'
import type { OrderState } from '../domain/order.ts'
import type { ShopEvent } from '../domain/shop-event.ts'
import type { BoundedCount } from './orders.ts'

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

/** Where a time lies among the events, by the ledger's clock. */
interface EventPosition {
  /** Events up to this number are older. */
  readonly number: number
  /** Have events been deleted? */
  readonly swept: boolean
  /** Undefined: none is kept. */
  readonly oldestAtMs: number | undefined
  readonly nowMs: number
}

interface ChangedQuery {
  readonly sale?: SaleId | undefined
  readonly state?: OrderState | undefined
  /** Orders of this buyer, and the order with this id. */
  readonly who?: { readonly buyer: BuyerId; readonly order: OrderId | undefined } | undefined
}

export interface EventLog {
  /** The events behind this number, at most so many, in the order of their numbers. 0: from the first. */
  read(after: number, limit: number): Promise<EventPage>
  /** Events of the same moment may be numbered in another order than that of their times: ask for a little earlier. */
  at(ms: number): Promise<EventPosition>
  /** How many orders changed since, by the events behind a number; at most so many numbers are read. */
  countChanged(after: number, numbersMax: number, sinceMs: number, query: ChangedQuery): Promise<BoundedCount>
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
