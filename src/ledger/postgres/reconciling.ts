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
              order: text(row, 'order_id'),
              item: text(row, 'item'),
            },
      )
    },
    async decideCapture(payment) {
      const [row] = await database.run('decide_capture', [payment])
      return row === undefined ? undefined : (text(row, 'outcome') as 'paid' | 'late')
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
    async reopen() {
      return (await database.run('reopen_reports', [])).map(row => text(row, 'sale'))
    },
    async toSettle(max) {
      return (await database.run('sales_to_settle', [max])).map(row => text(row, 'id'))
    },
    async results(sale) {
      return (await database.run('sale_results', [sale])).map(row => ({
        item: text(row, 'item'),
        orders: number(row, 'orders'),
        unitsPaid: number(row, 'pieces_paid'),
        buyersPaid: number(row, 'buyers_paid'),
        // A sum over a whole sale may be more than a number holds exactly; that must not end the process.
        revenue: { amount: Number(text(row, 'revenue_minor')), currency: text(row, 'currency') },
        refundedOrders: number(row, 'refunded_orders'),
        unpaidOrders: number(row, 'unpaid_orders'),
        cancelledOrders: number(row, 'cancelled_orders'),
        refusedOrders: number(row, 'refused_orders'),
      }))
    },
  }
}
