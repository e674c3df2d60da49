/**
 * The demo of a first start: a sale that opens in half a minute, and one with a waiting line that may be joined at once and opens a little later. Both are published at
 * once, unless another sale is open or to come.
 */

import type { Sale } from '../../domain/sale.ts'
import { createSale, type NewItem, type NewSale } from './create-sale.ts'
import type { OperateContext } from './operate-context.ts'

const OPENS_IN_MS = 30_000
const LINE_OPENS_SALE_IN_MS = 45_000
const LASTS_MS = 3_600_000
const TICKETS_BEFORE_MS = 120_000
/** Slow enough to be watched, and short enough to pay that units come back while one waits. */
const LINE_PER_SECOND = 10
const LINE_CLAIM_MS = 30_000
const LINE_PAY_MS = 60_000

const KEYBOARD: NewItem = {
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
}
const MACHINE: NewItem = {
  ...KEYBOARD,
  name: 'Espresso machine',
  sku: 'DEMO-2',
  price: { amount: 99_900, currency: 'CNY' },
  listPrice: { amount: 199_900, currency: 'CNY' },
  units: 300,
  payWithinMs: LINE_PAY_MS,
}

type DemoContext = Pick<OperateContext, 'sales' | 'ids' | 'clock'>

/** The first of the demo sales, or undefined when there is another sale. */
export async function demoSales(context: DemoContext): Promise<Sale | undefined> {
  const nowMs = context.clock.now()
  const others = await context.sales.list({ drafts: false, limit: 100 })
  if (others.some(sale => sale.state !== 'over' && sale.closesAtMs > nowMs)) return undefined
  const line = {
    opensAtMs: nowMs,
    order: 'arrival',
    rate: LINE_PER_SECOND,
    claimWithinMs: LINE_CLAIM_MS,
  } as const
  await publish(context, 'Demo sale with a waiting line', nowMs + LINE_OPENS_SALE_IN_MS, MACHINE, { line })
  return publish(context, 'Demo sale', nowMs + OPENS_IN_MS, KEYBOARD)
}

async function publish(
  context: DemoContext,
  name: string,
  atMs: number,
  item: NewItem,
  more: Pick<NewSale, 'line'> = {},
): Promise<Sale> {
  const opensAtMs = Math.ceil(atMs / 1000) * 1000
  const wish: NewSale = {
    name,
    opensAtMs,
    closesAtMs: opensAtMs + LASTS_MS,
    warmBeforeMs: LASTS_MS,
    rule: 'first_come',
    ticketsBeforeMs: TICKETS_BEFORE_MS,
    challenge: undefined,
    ...more,
    items: [item],
  }
  const sale = await createSale(context, wish, context.ids.next(), 'demo')
  await context.sales.move(sale.id, ['draft'], 'ready', 'demo', 'sale.publish')
  return sale
}
