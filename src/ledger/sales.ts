/** Sales and their items in the ledger: create, read, move. States move by compare-and-set; a move that no longer fits is refused. */

import type { Epoch, ItemId, SaleId } from '../domain/ids.ts'
import type { Door, Item } from '../domain/item.ts'
import type { Sale, StoredSaleState } from '../domain/sale.ts'

/** Where an item's selling right stands: what the edge's look loop reads. */
interface ItemRight {
  readonly item: ItemId
  readonly epoch: Epoch
  readonly door: Door
}

export interface Sales {
  /** The same id again changes nothing. */
  create(sale: Sale, by: string): Promise<void>
  find(id: SaleId): Promise<Sale | undefined>
  /** Newest opening first. */
  list(options: { readonly drafts: boolean; readonly limit: number }): Promise<readonly Sale[]>
  /** Sales that a gate must know now: not a draft, warm-up begun, not over. By the ledger's clock. */
  warmDue(): Promise<readonly Sale[]>
  /** Sales that a process of a cluster keeps an eye on: not a draft, warm-up begun, ended less than an hour ago. Read from the primary (E2). */
  followed(): Promise<{ readonly nowMs: number; readonly sales: readonly Sale[] }>
  /** Items of sales that ended longer ago and are not settled: a gate that was away may still hold reservations of them. */
  unsettledItems(max: number): Promise<readonly Pick<Item, 'id' | 'shards' | 'gateEpoch' | 'gateShards'>[]>
  /** False when the sale was not in one of the `from` states. */
  move(id: SaleId, from: readonly StoredSaleState[], to: StoredSaleState, by: string, action: string): Promise<boolean>
  /** The warm-up begins at once. */
  warmNow(id: SaleId, by: string): Promise<void>
  rights(items: readonly ItemId[]): Promise<readonly ItemRight[]>
  /** The ledger's clock, unix ms. */
  now(): Promise<number>
}
