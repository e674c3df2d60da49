/** Audits and reconciliation in PostgreSQL. */

import type { OrderId } from '../../domain/ids.ts'
import type { Door } from '../../domain/item.ts'
import type { PaymentAmiss, Reconciliation, Report } from '../reconciliation.ts'
import type { Database } from './connection/database.ts'
import { allSlices } from './item-slices.ts'
import { columns, number, optional, queries, text, time } from './rows.ts'

const PAGE = 10_000
export function createReconciliation(database: Database): Reconciliation {
  const { all, act } = queries(database)

  return {
    audit: async sale =>
      (await allSlices(database, 'audit', sale)).map(row => ({
        item: text(row, 'item'),
        door: text(row, 'door') as Door,
        ...columns(row, number, 'units', 'available', 'pending', 'paid', 'closed', 'releases', 'gone', 'moving'),
        ...columns(row, number, 'orders_placed', 'orders_refused', 'orders_paid', 'epoch', 'gate_epoch'),
        oldestReleaseMs: optional(row, 'oldest_release_ms', number),
      })),
    async held(item) {
      const live = new Set<OrderId>()
      for (let after: OrderId | undefined = '0'; after !== undefined; ) {
        const page: OrderId[] = await all('live_orders', [item, after, PAGE], row => text(row, 'id'))
        for (const id of page) live.add(id)
        after = page.length < PAGE ? undefined : page.at(-1)
      }
      return { live, releasing: new Set(await all('release_ids', [item], row => text(row, 'order_id'))) }
    },
    paymentsAmiss: async sale =>
      (await allSlices(database, 'payments_amiss', sale)).flatMap((row): readonly PaymentAmiss[] => {
        const kind = text(row, 'kind')
        if (kind === 'slice') return []
        const order = text(row, 'order_id')
        if (kind === 'paid_uncaptured') return [{ kind, order }]
        const payment = text(row, 'id')
        if (kind === 'part_uncaptured') return [{ kind, payment, order }]
        return [{ kind: 'captured_unpaid', payment, order, item: text(row, 'item') }]
      }),
    save(sale, kind, { differences, repairs }, summary) {
      const found = [JSON.stringify(differences), JSON.stringify(repairs)]
      if (kind === 'automatic') return act('save_automatic_reconciliation', [sale, ...found])
      const json = summary === undefined ? null : JSON.stringify(summary)
      return act('save_reconciliation', [sale, kind === 'final', ...found, json])
    },
    reports: (sale, max) =>
      all('reconciliations', [sale, max], row => ({
        atMs: time(row, 'at'),
        final: row.final === true,
        differences: row.differences as Report['differences'],
        repairs: row.repairs as Report['repairs'],
        summary: row.summary,
      })),
    reopen: () => all('reopen_reports', [], row => text(row, 'sale')),
    toSettle: (after, max) => all('sales_to_settle', [after, max], row => text(row, 'id')),
    unsettledItems: (after, max) =>
      all('unsettled_items', [after, max], row => ({
        id: text(row, 'id'),
        ...columns(row, number, 'shards', 'gate_epoch', 'gate_shards'),
      })),
    toForget: (after, afterMs, max) =>
      all('items_to_forget', [after, afterMs, max], row => ({ id: text(row, 'id'), sale: text(row, 'sale') })),
    // A sum over a whole sale may exceed what a number holds exactly; that must not end the process.
    results: async sale =>
      (await allSlices(database, 'sale_results', sale)).map(
        ({ revenue_minor, currency, position, last_position, ...figures }) => ({
          ...figures,
          revenue: { amount: Number(revenue_minor), currency },
        }),
      ),
  }
}
