/** Closings in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import { mayMove } from '../../domain/order.ts'
import type { Closings, DueRelease } from '../closings.ts'
import type { Database, Row } from './connection/database.ts'
import { number, only, text, toOrder } from './rows.ts'

export function createClosings(database: Database): Closings {
  return {
    async due(max, without) {
      return (await database.run('due_orders', [max, without])).map(row => ({
        id: text(row, 'id'),
        item: text(row, 'item'),
        paymentStarted: row.started === true,
      }))
    },
    async close(item, orders, reason) {
      const closed = (await database.run('close_orders', [item, orders, reason])).map(toOrder)
      for (const { id, state, reason: why } of closed)
        assert(mayMove('pending', state, why), `order ${id} became ${state}/${why}`)
      return closed
    },
    async refund(order, item, restock, by) {
      const row = only(await database.run('refund_order', [order, item, restock, by]))
      return text(row, 'outcome') as 'refunded' | 'same' | 'not_paid' | 'unknown'
    },
    async releases(max, itemMax) {
      return (await database.run('releases', [max, itemMax])).map(toRelease)
    },
    async releasesOf(orders) {
      return (await database.run('releases_of', [orders])).map(toRelease)
    },
    async released(orders) {
      return (await database.run('released', [orders])).length
    },
    async releaseIdle() {
      await database.run('release_idle', [])
    },
  }
}

function toRelease(row: Row): DueRelease {
  return {
    order: text(row, 'order_id'),
    item: text(row, 'item'),
    buyer: text(row, 'buyer'),
    attempt: number(row, 'attempt'),
    outcome: text(row, 'outcome') as 'closed' | 'gone',
    epoch: number(row, 'epoch'),
  }
}
