/** Closings in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import { mayMove } from '../../domain/order.ts'
import type { Closings, DueRelease, RefundOutcome } from '../closings.ts'
import type { Database, Row } from './connection/database.ts'
import { number, queries, text, toOrder } from './rows.ts'

export function createClosings(database: Database): Closings {
  const { all, one, act } = queries(database)
  return {
    due: (max, without) =>
      all('due_orders', [max, without], row => ({
        id: text(row, 'id'),
        item: text(row, 'item'),
        paymentStarted: row.started === true,
      })),
    async close(item, orders, reason) {
      const closed = await all('close_orders', [item, orders, reason], toOrder)
      for (const { id, state, reason: why } of closed)
        assert(mayMove('pending', state, why), `order ${id} became ${state}/${why}`)
      return closed
    },
    refund: (order, item, restock, by) =>
      one('refund_order', [order, item, restock, by], row => text(row, 'outcome') as RefundOutcome),
    releases: (max, itemMax) => all('releases', [max, itemMax], toRelease),
    releasesOf: orders => all('releases_of', [orders], toRelease),
    released: async orders => (await database.run('released', [orders])).length,
    releaseIdle: () => act('release_idle', []),
  }
}

function toRelease(row: Row): DueRelease {
  return {
    order: text(row, 'order_id'),
    item: text(row, 'item'),
    buyer: text(row, 'buyer'),
    attempt: number(row, 'attempt'),
    outcome: text(row, 'outcome') as DueRelease['outcome'],
    epoch: number(row, 'epoch'),
  }
}
