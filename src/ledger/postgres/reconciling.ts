/** Reconciliation's reads and reports in PostgreSQL. */

import type { OrderId } from '../../domain/ids.ts'
import type { Reconciling, Report } from '../reconciling.ts'
import type { Database } from './database.ts'
import { number, text, time } from './rows.ts'

const PAGE = 10_000

export function createReconciling(database: Database): Reconciling {
  return {
    async held(item) {
      const live = new Set<OrderId>()
      for (let after = '0'; ; ) {
        const rows = await database.run('live_orders', [item, after, PAGE])
        for (const row of rows) live.add(text(row, 'id'))
        const last = rows.at(-1)
        if (last === undefined || rows.length < PAGE) break
        after = text(last, 'id')
      }
      const releasing = await database.run('release_ids', [item])
      return { live, releasing: new Set(releasing.map(row => text(row, 'order_id'))) }
    },
    async paymentsAmiss(sale) {
      return (await database.run('payments_amiss', [sale])).map(row =>
        text(row, 'kind') === 'paid_uncaptured'
          ? { kind: 'paid_uncaptured', order: text(row, 'order_id') }
          : {
              kind: 'captured_unpaid',
              payment: text(row, 'id'),
              provider: text(row, 'provider'),
              ref: text(row, 'ref'),
              amount: { amount: number(row, 'amount_minor'), currency: text(row, 'currency') },
              atMs: time(row, 'captured_at'),
              order: text(row, 'order_id'),
            },
      )
    },
    async reopenCapture(payment) {
      return (await database.run('reopen_capture', [payment])).length === 1
    },
    async save(sale, final, { differences, repairs }, summary) {
      const json = [
        JSON.stringify(differences),
        JSON.stringify(repairs),
        summary === undefined ? null : JSON.stringify(summary),
      ]
      await database.run('save_reconciliation', [sale, final, ...json])
    },
    async reports(sale, max) {
      return (await database.run('reconciliations', [sale, max])).map(row => ({
        atMs: time(row, 'at'),
        final: row.final === true,
        differences: row.differences as Report['differences'],
        repairs: row.repairs as Report['repairs'],
        summary: row.summary,
      }))
    },
    async toSettle(max) {
      return (await database.run('sales_to_settle', [max])).map(row => text(row, 'id'))
    },
    async results(sale) {
      return (await database.run('sale_results', [sale])).map(row => ({
        item: text(row, 'item'),
        orders: number(row, 'orders'),
        piecesPaid: number(row, 'pieces_paid'),
        buyersPaid: number(row, 'buyers_paid'),
        revenue: { amount: number(row, 'revenue_minor'), currency: text(row, 'currency') },
        refundedOrders: number(row, 'refunded_orders'),
        unpaidOrders: number(row, 'unpaid_orders'),
        cancelledOrders: number(row, 'cancelled_orders'),
        refusedOrders: number(row, 'refused_orders'),
      }))
    },
  }
}
