/** The demo sale of a first start: it opens in half a minute, unless another sale is open or to come. */

import type { Sale } from '../../domain/sale.ts'
import { createSale, type NewSale } from './create-sale.ts'
import type { OperateContext } from './operate-context.ts'

const OPENS_IN_MS = 30_000
const LASTS_MS = 3_600_000

/** The published sale, or undefined when there is another one. */
export async function demoSale(context: Pick<OperateContext, 'sales' | 'ids' | 'clock'>): Promise<Sale | undefined> {
  const nowMs = context.clock.now()
  const others = await context.sales.list({ drafts: false, limit: 100 })
  if (others.some(sale => sale.state !== 'over' && sale.closesAtMs > nowMs)) return undefined
  const opensAtMs = Math.ceil((nowMs + OPENS_IN_MS) / 1000) * 1000
  const wish: NewSale = {
    name: 'Demo sale',
    opensAtMs,
    closesAtMs: opensAtMs + LASTS_MS,
    warmBeforeMs: LASTS_MS,
    rule: 'first_come',
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
