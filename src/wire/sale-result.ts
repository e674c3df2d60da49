/** The result of a sale, as operators read it: so far while it runs, and for good when it is over. */

import { z } from 'zod'
import { moneyAnswer, plainTime } from './answers.ts'
import { callsForOperators, json } from './call.ts'

const viewers = callsForOperators('Operators', 'viewer')
const count = z.int().min(0)
const id = z.string().regex(/^[1-9][0-9]{0,18}$/)
const ms = z.number().min(0).optional()
const waiting = z.object({ orders: count, p50Ms: ms, p95Ms: ms, p99Ms: ms })

const saleResultAnswer = z
  .object({
    at: plainTime.describe(
      'When it was counted: some seconds ago at most, a minute for a sale with millions of orders.',
    ),
    final: z.boolean().describe('The sale is over and no order can be paid any more. Refunds may follow.'),
    items: z.array(
      z.object({
        item: id,
        name: z.string(),
        sku: z.string().optional(),
        units: count.describe('Put on sale.'),
        soldUnits: count.describe('In paid orders.'),
        heldUnits: count.describe('In orders that are not paid yet.'),
        orders: count.describe('All that there ever were, reservations that could not be placed too.'),
        paidOrders: count,
        pendingOrders: count,
        refundedOrders: count,
        unpaidOrders: count,
        cancelledOrders: count,
        refusedOrders: count,
        revenue: moneyAnswer.describe('Of paid orders, without the parts that went back.'),
        refunded: moneyAnswer.describe('Gone back, or about to.'),
      }),
    ),
    firstMinute: z
      .object({
        from: plainTime.describe('The opening; the first order where the sale was published later.'),
        seconds: z.array(z.object({ orders: count, units: count })).describe('Sixty; by when they were reserved.'),
      })
      .nullable()
      .describe('Null while there is no order.'),
    waiting: z
      .object({
        placed: waiting.describe('From the reservation until the order was placed.'),
        paid: waiting.describe('From there until it was paid.'),
      })
      .describe('Over all orders of the sale, exact to 5%.'),
  })
  .meta({ id: 'SaleResult' })

const AT = '2026-11-13T11:20:00.000Z'

export const resultCalls = {
  saleResult: viewers.get(
    '/api/admin/sales/{sale}/result',
    'The result of a sale: sold, revenue, refunds, waiting times',
    {
      more: 'While the sale runs: so far. With Accept: text/csv the items as CSV, amounts in major units.',
      takes: ['Accept'],
      answers: {
        200: {
          ...json('The result.', saleResultAnswer, {
            at: AT,
            final: true,
            items: [
              {
                item: '4711001337000002',
                name: 'Kettle',
                sku: 'KTL-1',
                units: 100,
                soldUnits: 97,
                heldUnits: 0,
                orders: 120,
                paidOrders: 97,
                pendingOrders: 0,
                refundedOrders: 1,
                unpaidOrders: 20,
                cancelledOrders: 2,
                refusedOrders: 0,
                revenue: { amount: 19390300, currency: 'CNY' },
                refunded: { amount: 199900, currency: 'CNY' },
              },
            ],
            firstMinute: {
              from: '2026-11-13T10:00:00.000Z',
              seconds: Array.from({ length: 60 }, (_, second) => ({
                orders: second === 0 ? 100 : 0,
                units: second === 0 ? 100 : 0,
              })),
            },
            waiting: {
              placed: { orders: 120, p50Ms: 7, p95Ms: 12, p99Ms: 15 },
              paid: { orders: 98, p50Ms: 42_000, p95Ms: 310_000, p99Ms: 650_000 },
            },
          }),
          texts: ['text/csv'],
        },
      },
    },
  ),
}

export type SaleResultAnswer = z.output<typeof saleResultAnswer>
