/**
 * The archive: where the orders and payments of items go whose sale is over and settled, out of the tables that a sale writes. Readers and
 * writers of the ledger find every order in either place; a writer brings back what it needs. Also what leaves the ledger for good: old sales, and
 * a buyer's id.
 */

import type { BuyerId, ItemId, OrderId, SaleId } from '../domain/ids.ts'

interface OldSale {
  readonly id: SaleId
  readonly name: string
  readonly closesAtMs: number
  readonly orders: number
  readonly payments: number
}

/** How many rows had a buyer's id: orders, orders in the archive, dead letters, reports; and how many orders keep it for now. */
export interface Erased {
  readonly orders: number
  readonly archived: number
  readonly letters: number
  readonly reports: number
  /** Their sale is not settled, or money or units of them still move. */
  readonly remaining: number
}

export interface Archive {
  /** Items of sales with a final report of at least this age, whose orders are not all in the archive. A page, in the order of their ids. */
  toArchive(after: ItemId, afterMs: number, max: number): Promise<readonly ItemId[]>
  /**
   * Moves the next settled orders of the item. `last`: go on behind this order; undefined: all were looked at. No answer: the item is not
   * settled, or is locked.
   */
  move(
    item: ItemId,
    after: OrderId,
    max: number,
  ): Promise<{ readonly moved: number; readonly last: OrderId | undefined } | undefined>
  /**
   * Sales that are in the archive as a whole, with a final report of at least this age. A page, in the order of their ids. Of each at most
   * `countMax` orders are counted, with their payments.
   */
  oldSales(after: SaleId, olderThanMs: number, max: number, countMax: number): Promise<readonly OldSale[]>
  /** The sale is gone at once, for every reader; its archived rows go with `deleteRows`. False: it is not as `oldSales` says. */
  deleteSale(sale: SaleId, olderThanMs: number, by: string): Promise<boolean>
  /** The next archived rows of deleted sales. No answer: none is left. */
  deleteRows(max: number): Promise<{ readonly orders: number; readonly payments: number } | undefined>
  /** Records of providers' events of at least this age. Returns how many this call deleted. */
  deleteCallbacks(olderThanMs: number, max: number): Promise<number>
  /**
   * A buyer's id leaves every row of settled sales, in one transaction; another name takes its place. Again changes nothing.
   * @param dry nothing is changed, and the answer says what would be
   */
  erase(buyer: BuyerId, by: string, dry: boolean): Promise<Erased>
}
