/**
 * An operator creates a draft: ids are made here, defaults were filled in by the schema of the input. Nothing is on sale yet. The demo sale of
 * a first start is published at once and opens in half a minute, unless another sale is open or to come.
 */

import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { OperateContext } from './operate-context.ts'

export type NewItem = Omit<Item, 'id' | 'sale' | 'available' | keyof typeof NEVER_ON_SALE>
export type NewSale = Omit<Sale, 'id' | 'state' | 'stateNo' | 'items'> & { readonly items: readonly NewItem[] }

const NEVER_ON_SALE = { door: 'shut', epoch: 0, gateEpoch: 0, gateShards: 1, changeNo: 0 } as const
const DEMO_OPENS_IN_MS = 30_000
const DEMO_LASTS_MS = 3_600_000
const DEMO_TICKETS_BEFORE_MS = 120_000

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

/** The demo sale, or undefined when there is another one. */
export async function demoSale(context: Pick<OperateContext, 'sales' | 'ids' | 'clock'>): Promise<Sale | undefined> {
  const nowMs = context.clock.now()
  const others = await context.sales.list({ drafts: false, limit: 100 })
  if (others.some(sale => sale.state !== 'over' && sale.closesAtMs > nowMs)) return undefined
  const opensAtMs = Math.ceil((nowMs + DEMO_OPENS_IN_MS) / 1000) * 1000
  const wish: NewSale = {
    name: 'Demo sale',
    opensAtMs,
    closesAtMs: opensAtMs + DEMO_LASTS_MS,
    warmBeforeMs: DEMO_LASTS_MS,
    rule: 'first_come',
    ticketsBeforeMs: DEMO_TICKETS_BEFORE_MS,
    challenge: undefined,
    items: [
      {
        name: 'Mechanical keyboard',
        sku: 'DEMO-1',
        image: undefined,
        price: { amount: 19_900, currency: 'CNY' },
        listPrice: { amount: 59_900, currency: 'CNY' },
        units: 100,
        quantityMax: 1,
        attemptsMax: 3,
        payWithinMs: 900_000,
        whenGateDown: 'ledger',
        homeDoor: 'gate',
        shards: 1,
      },
    ],
  }
  const sale = await createSale(context, wish, context.ids.next(), 'demo')
  await context.sales.move(sale.id, ['draft'], 'ready', 'demo', 'sale.publish')
  return sale
}
