/** Something to look at on the first start: a sale that opens in half a minute, if nothing else is on sale. */

import type { Clock } from '../../base/clock.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Sales } from '../../ledger/sales.ts'
import { createSale, type NewSale } from './create-sale.ts'

const OPENS_IN_MS = 30_000
const LASTS_MS = 3_600_000

/** The demo sale, published, or undefined when there is a sale to come or under way. */
export async function demoSale(parts: {
  sales: Sales
  ids: Pick<IdMaker, 'next'>
  clock: Clock
}): Promise<Sale | undefined> {
  const nowMs = parts.clock.now()
  const others = await parts.sales.list({ drafts: false, limit: 100 })
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
  const sale = await createSale(parts, wish, parts.ids.next(), 'demo')
  await parts.sales.move(sale.id, ['draft'], 'ready', 'demo', 'sale.publish')
  return sale
}
