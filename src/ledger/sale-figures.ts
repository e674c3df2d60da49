/** How a sale went, counted from its orders: also while it runs, and when its orders are in the archive. */

import type { ItemId, SaleId } from '../domain/ids.ts'
import type { Money } from '../domain/money.ts'

/** Orders by how long something took: under b those of around e^(b/20) ms. */
export type Durations = ReadonlyMap<number, number>

export interface ItemFigures {
  readonly item: ItemId
  readonly orders: number
  readonly paidOrders: number
  readonly paidUnits: number
  readonly pendingOrders: number
  readonly pendingUnits: number
  readonly refundedOrders: number
  readonly unpaidOrders: number
  readonly cancelledOrders: number
  readonly refusedOrders: number
  /** Of paid orders, without what went back. */
  readonly revenue: Money
  readonly refunded: Money
  readonly placedAfter: Durations
  readonly paidAfter: Durations
  /** By the second of the minute asked for. */
  readonly minute: ReadonlyMap<number, { readonly orders: number; readonly units: number }>
}

export interface SaleFigures {
  /** Unix ms. Undefined: there is no order. */
  firstOrderMs(sale: SaleId): Promise<number | undefined>
  /** @param fromMs where the minute begins */
  of(sale: SaleId, fromMs: number): Promise<readonly ItemFigures[]>
}
