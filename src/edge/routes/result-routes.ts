/** Operators and the result of a sale. */

import { toRfc3339 } from '../../base/clock.ts'
import { toDecimal } from '../../domain/money.ts'
import type { Sale } from '../../domain/sale.ts'
import { saleState } from '../../domain/sale.ts'
import type { SaleResult } from '../../flows/check/sale-result.ts'
import { resultCalls, type SaleResultAnswer } from '../../wire/sale-result.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { prefersCsv, sendCsv } from '../http/csv.ts'
import { json } from '../http/exchange.ts'
import { findSale } from './operator-sale-routes.ts'

const COUNTS = [
  'units',
  'soldUnits',
  'heldUnits',
  'orders',
  'paidOrders',
  'pendingOrders',
  'refundedOrders',
  'unpaidOrders',
  'cancelledOrders',
  'refusedOrders',
] as const

const handlers = {
  async saleResult(edge, exchange) {
    const sale = await findSale(edge, exchange)
    const result = wireResult(sale, await edge.results(sale), edge.stock.nowMs())
    if (!prefersCsv(exchange.request.headers.get('accept') ?? '')) return json(result)
    return sendCsv(
      `result-${sale.id}.csv`,
      ['item', 'sku', 'name', ...COUNTS, 'revenue', 'refunded', 'currency'],
      result.items.map(line => [
        line.item,
        line.sku ?? '',
        line.name,
        ...COUNTS.map(name => `${line[name]}`),
        toDecimal(line.revenue),
        toDecimal(line.refunded),
        line.revenue.currency,
      ]),
    )
  },
} satisfies Handlers<typeof resultCalls>

export const resultRoutes = (edge: EdgeContext) => routesOf(edge, resultCalls, handlers)

function wireResult(sale: Sale, { atMs, items, minute, placed, paid }: SaleResult, nowMs: number): SaleResultAnswer {
  const of = new Map(items.map(line => [line.item, line]))
  const isOver = saleState(sale, nowMs, undefined) === 'over'
  return {
    at: toRfc3339(atMs),
    final: isOver && items.every(line => line.pendingOrders === 0),
    items: sale.items.flatMap(({ id, name, sku, units }) => {
      const line = of.get(id)
      if (line === undefined) return []
      const { paidUnits, pendingUnits, item, placedAfter: _, paidAfter: __, minute: ___, ...figures } = line
      return [
        {
          item,
          name,
          ...(sku !== undefined && { sku }),
          units,
          soldUnits: paidUnits,
          heldUnits: pendingUnits,
          ...figures,
        },
      ]
    }),
    firstMinute: minute === undefined ? null : { from: toRfc3339(minute.fromMs), seconds: [...minute.seconds] },
    waiting: { placed, paid },
  }
}
