/**
 * An operator creates a draft: ids are made here, defaults were filled in by the schema of the input. Nothing is on sale yet.
 */

import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { OperateContext } from './operate-context.ts'

export type NewItem = Omit<Item, 'id' | 'sale' | 'available' | keyof typeof NEVER_ON_SALE>
export type NewSale = Omit<Sale, 'id' | 'state' | 'stateNo' | 'items'> & { readonly items: readonly NewItem[] }

const NEVER_ON_SALE = { door: 'shut', epoch: 0, gateEpoch: 0, gateShards: 1, changeNo: 0 } as const

/** The same id again returns the sale that was created with it. */
export async function createSale(
  { sales, ids }: Pick<OperateContext, 'sales' | 'ids'>,
  wish: NewSale,
  id: SaleId,
  by: string,
): Promise<Sale> {
  const items = wish.items.map(item => newItem(item, ids.next(), id))
  const sale: Sale = { ...wish, id, state: 'draft', stateNo: 0, items }
  await sales.create(sale, by)
  return (await sales.find(id)) ?? sale
}

export function newItem(item: NewItem, id: ItemId, sale: SaleId): Item {
  return { ...item, ...NEVER_ON_SALE, available: item.units, id, sale }
}
