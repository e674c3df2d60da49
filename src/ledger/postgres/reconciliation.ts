/** Audits and reconciliation in PostgreSQL. */

import type { OrderId } from '../../domain/ids.ts'
import type { Door } from '../../domain/item.ts'
import type { Reconciliation, Report } from '../reconciliation.ts'
import type { Database } from './connection/database.ts'
import { number, text, time } from './rows.ts'

const PAGE = 10_000

export function createReconciliation(database: Database): Reconciliation {
  return {
    async audit(sale) {
      return (await database.run('audit', [sale])).map(row => ({
        item: text(row, 'item'),
        units: number(row, 'units'),
        available: number(row, 'available'),
        pending: number(row, 'pending'),
        paid: number(row, 'paid'),
        closed: number(row, 'closed'),
        releases: number(row, 'releases'),
        gone: number(row, 'gone'),
        moving: number(row, 'moving'),
        oldestReleaseMs: row.oldest_release_ms === null ? undefined : number(row, 'oldest_release_ms'),
        door: text(row, 'door') as Door,
        epoch: number(row, 'epoch'),
        gateEpoch: number(row, 'gate_epoch'),
      }))
    },
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
    async unsettledItems(max) {
      return (await database.run('unsettled_items', [max])).map(row => ({
        id: text(row, 'id'),
        shards: number(row, 'shards'),
        gateEpoch: number(row, 'gate_epoch'),
        gateShards: number(row, 'gate_shards'),
      }))
    },
    async results(sale) {
      return (await database.run('sale_results', [sale])).map(row => ({
        item: text(row, 'item'),
        orders: number(row, 'orders'),
        unitsPaid: number(row, 'pieces_paid'),
        buyersPaid: number(row, 'buyers_paid'),
        // A sum over a whole sale may exceed what a number holds exactly; that must not end the process.
        revenue: { amount: Number(text(row, 'revenue_minor')), currency: text(row, 'currency') },
        refundedOrders: number(row, 'refunded_orders'),
        unpaidOrders: number(row, 'unpaid_orders'),
        cancelledOrders: number(row, 'cancelled_orders'),
        refusedOrders: number(row, 'refused_orders'),
      }))
    },
  }
}
