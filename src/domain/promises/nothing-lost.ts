/**
 * Promise 2: a buyer told `placed` has a committed order row; a buyer told `reserved` gets an order, or a refusal that is itself a row.
 *
 * The row must be that buyer's, of that item and quantity, and no further back than what the buyer was told: orders move one way.
 * A row that is missing for a `reserved` order counts only when all is quiet. Silent when the rows were not read.
 */

import { unreachable } from '../../base/assert.ts'
import type { OrderFacts, Snapshot, Told, ToldOrder, Violation } from './snapshot.ts'

export function* nothingLost(snapshot: Snapshot): Iterable<Violation> {
  if (snapshot.orders === undefined) return
  const rows = new Map(snapshot.orders.map(order => [order.id, order]))
  for (const told of snapshot.told) {
    if (!('order' in told.answer)) continue
    const { order } = told.answer
    const row = rows.get(order.id)
    const wrong = row === undefined ? missing(snapshot, order) : differs(told, order, row)
    if (wrong === undefined) continue
    const message = `buyer ${told.buyer} was told ${told.answer.kind} (${order.state}) for order ${order.id}, but ${wrong}`
    yield { promise: 2, message, ids: [told.item, order.id] }
  }
  if (snapshot.quiet) yield* sumsOfRows(snapshot, snapshot.orders)
}

function missing(snapshot: Snapshot, order: ToldOrder): string | undefined {
  return order.state === 'reserved' && !snapshot.quiet ? undefined : 'the ledger has no such order'
}

function differs(told: Told, order: ToldOrder, row: OrderFacts): string | undefined {
  if (row.buyer !== told.buyer) return `it is the order of buyer ${row.buyer}`
  if (row.item !== told.item) return `it is an order of item ${row.item}`
  if (row.quantity !== order.quantity) return `it has ${row.quantity} units and not ${order.quantity}`
  if (row.attempt !== order.attempt) return `it is attempt ${row.attempt} and not ${order.attempt}`
  switch (order.state) {
    case 'reserved':
      return undefined
    case 'pending':
      return row.reason === 'refused' ? 'it was refused' : undefined
    case 'paid':
      return row.state === 'paid' || row.reason === 'refunded' ? undefined : `it is ${row.state}`
    case 'closed':
      return row.state === 'closed' ? undefined : `it is ${row.state}`
    default:
      return unreachable(order.state)
  }
}

/** The rows that were read and the sums that were read are the same orders, or rows went missing between them. */
function* sumsOfRows(snapshot: Snapshot, orders: readonly OrderFacts[]): Iterable<Violation> {
  for (const item of snapshot.items) {
    for (const state of ['pending', 'paid'] as const) {
      const rows = orders.filter(order => order.item === item.item && order.state === state)
      const units = rows.reduce((sum, order) => sum + order.quantity, 0)
      if (units === item[state]) continue
      const message = `item ${item.item}: the ledger counts ${item[state]} ${state} units, its rows hold ${units}`
      yield { promise: 2, message, ids: [item.item] }
    }
  }
}
