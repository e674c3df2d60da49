/** Orders in PostgreSQL: placed, found, closed and refunded. */

import { assert } from '../../base/assert.ts'
import { isBuyerId, isId } from '../../domain/ids.ts'
import { mayMove } from '../../domain/order.ts'
import type { Closings, DueRelease, Orders, RefundOutcome } from '../orders.ts'
import type { Database, Row } from './connection/database.ts'
import { arrayOf, askArrays, toDirectReply } from './place-replies.ts'
import { placeTogether } from './place-together.ts'
import { columns, number, queries, text, toOrder } from './rows.ts'

const INT_MAX = 2 ** 31 - 1
/** Orders that a page of one state reads at most, and a count of one state. */
const PAGE_READS_MAX = 2_000
const COUNT_READS_MAX = 30_000

export function createOrders(database: Database): Orders {
  const { all, first, one } = queries(database)
  return {
    place: placeTogether(database),
    placeDirectly: (item, epoch, asks) =>
      one('place_directly', [item, epoch, ...askArrays(asks)], row => toDirectReply(row, item, epoch, asks)),
    async refuse(item, epoch, { order, buyer, attempt, quantity, reservedAtMs }) {
      // Its faults must not prevent its refusal: figures are brought into range, and ids that no row can hold get no row.
      if (!isId(order) || !isBuyerId(buyer)) return undefined
      const figures = [within(attempt, 1, INT_MAX), within(quantity, 1, INT_MAX), within(reservedAtMs, 0, 8.64e15)]
      return first('refuse_order', [item, epoch, order, buyer, ...figures], toOrder)
    },
    find: ids => all('find_orders', [ids], toOrder),
    ofBuyers: keys =>
      all('orders_of_buyers', [arrayOf(keys.map(key => key.item)), keys.map(key => key.buyer)], toOrder),
    ofBuyer: (buyer, after, limit) => all('orders_of_buyer', [buyer, after ?? null, limit], toOrder),
    list: ({ sale, state = null, buyer = null, after = null, limit }) =>
      all('orders_of_sale', [sale, state, buyer, after, limit], toOrder),
    async newest({ sale, state, before, limit }) {
      const reads = state === undefined ? limit + 1 : Math.max(limit + 1, PAGE_READS_MAX)
      const values = [sale ?? null, state ?? null, before ?? null, reads, limit + 1]
      const rows = await database.run('newest_orders', values)
      assert(rows[0] !== undefined, 'newest_orders answered no row')
      const found = rows.filter(row => row.id !== null)
      const shown = found.slice(0, limit)
      // Orders of a deleted sale are in the archive until they are deleted, too.
      const orders = shown.filter(row => row.sale !== null).map(toOrder)
      if (found.length > limit) return { orders, next: text(shown.at(-1)!, 'id') }
      return { orders, next: number(rows[0], 'seen') < reads ? undefined : text(rows[0], 'last_seen') }
    },
    count: ({ sale, state }, max) => {
      const reads = state === undefined ? max + 1 : COUNT_READS_MAX
      return one('count_orders', [sale ?? null, state ?? null, reads], row => {
        const found = number(row, 'found')
        return { count: Math.min(found, max), more: found > max || row.more === true }
      })
    },
    ofItem: (item, { state = null, after = null, limit }) =>
      all('orders_of_item', [item, state, after, limit], toOrder),
  }
}

/** The nearest whole number in the range; the lowest for NaN and infinity. */
function within(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, Math.trunc(value))) : least
}

/** Tried three times, and then by a later sweep: many rows that others keep locked must not hold up the sweep of all other items. */
const SWEEP_LOCK_MS = 500
/** As long as any statement may take: somebody waits for the answer. */
const CANCEL_LOCK_MS = 0

export function createClosings(database: Database): Closings {
  const { all, one, act } = queries(database)
  return {
    due: (max, providers, withoutItems) =>
      all('due_orders', [max, providers, withoutItems], row => columns(row, text, 'id', 'item')),
    async dueStarted(rooms, without, withoutItems) {
      const values = [rooms.map(({ lane }) => lane), rooms.map(({ room }) => room), without, withoutItems]
      const due = await all('due_started_orders', values, row => columns(row, text, 'id', 'item', 'provider'))
      return [...new Map(due.map(order => [order.id, order])).values()]
    },
    async close(item, orders, reason) {
      const lockMs = reason === 'unpaid' ? SWEEP_LOCK_MS : CANCEL_LOCK_MS
      const closed = await all('close_orders', [item, orders, reason, String(lockMs)], toOrder)
      for (const { id, state, reason: why } of closed)
        assert(mayMove('pending', state, why), `order ${id} became ${state}/${why}`)
      return closed
    },
    refund: (order, item, restock, by, reason) =>
      one('refund_order', [order, item, restock, by, reason ?? null], row => text(row, 'outcome') as RefundOutcome),
    releases: (max, itemMax) => all('releases', [max, itemMax], toRelease),
    releasesOf: orders => all('releases_of', [orders], toRelease),
    released: async orders => (await database.run('released', [orders])).length,
    releaseIdle: () => act('release_idle', []),
  }
}

function toRelease(row: Row): DueRelease {
  return {
    order: text(row, 'order_id'),
    outcome: text(row, 'outcome') as DueRelease['outcome'],
    ...columns(row, text, 'item', 'buyer'),
    ...columns(row, number, 'attempt', 'epoch'),
    ageMs: number(row, 'age_ms'),
  }
}
