/** An operator's wish becomes a draft: ids are made, defaults are filled in by whoever checked the input. Nothing is on sale yet. */

import type { IdMaker } from '../../base/snowflake.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Sales } from '../../ledger/sales.ts'

type NewItem = Omit<Item, 'id' | 'sale' | 'available' | 'door' | 'epoch' | 'gateEpoch' | 'gateShards' | 'changeNo'>
export type NewSale = Omit<Sale, 'id' | 'state' | 'stateNo' | 'items'> & { readonly items: readonly NewItem[] }

/** The same id again gives the sale that was made under it. */
export async function createSale(
  parts: { sales: Sales; ids: Pick<IdMaker, 'next'> },
  wish: NewSale,
  id: SaleId,
  by: string,
): Promise<Sale> {
  const sale: Sale = {
    ...wish,
    id,
    state: 'draft',
    stateNo: 0,
    items: wish.items.map(item => ({
      ...item,
      id: parts.ids.next(),
      sale: id,
      available: item.units,
      door: 'shut',
      epoch: 0,
      gateEpoch: 0,
      gateShards: 1,
      changeNo: 0,
    })),
  }
  await parts.sales.create(sale, by)
  return (await parts.sales.find(id)) ?? sale
}
