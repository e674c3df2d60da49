/**
 * Promise 6: paid or released, never both. Money that arrives late is refunded.
 *
 * At every moment: at most one captured payment per order, of the order's amount; parts that go back amount to less than it; no order was both paid and closed as unpaid or
 * cancelled. When all is quiet also: a captured payment belongs to a paid order (any other is refunded, or due to be), a paid order
 * has its capture, and a refunded order its refund. Silent when the rows were not read.
 */

import type { OrderFacts, PaymentFacts, Snapshot, Violation } from './snapshot.ts'

export function* paidOrReleased(snapshot: Snapshot): Iterable<Violation> {
  if (snapshot.orders === undefined) return
  const payments = Map.groupBy(snapshot.payments, payment => payment.order)
  const known = new Set(snapshot.orders.map(order => order.id))
  for (const order of snapshot.orders)
    for (const wrong of wrongs(order, payments.get(order.id) ?? [], snapshot.quiet))
      yield { promise: 6, message: `order ${order.id} (${order.reason ?? order.state}): ${wrong}`, ids: [order.id] }
  for (const order of payments.keys())
    if (!known.has(order))
      yield { promise: 6, message: `there is a payment for order ${order}, but no such order`, ids: [order] }
}

function* wrongs(order: OrderFacts, payments: readonly PaymentFacts[], quiet: boolean): Iterable<string> {
  const captured = payments.filter(payment => payment.state === 'captured')
  const refunds = payments.filter(payment => payment.state === 'refund_due' || payment.state === 'refunded')
  if (captured.length > 1) yield `was captured ${captured.length} times`
  for (const { amount } of captured) {
    const due = order.price.amount * order.quantity
    if (amount.amount !== due || amount.currency !== order.price.currency)
      yield `captured ${amount.amount} ${amount.currency}, due were ${due} ${order.price.currency}`
  }
  for (const { amount, state, parts = [] } of payments) {
    const back = parts.reduce((sum, part) => sum + part, 0)
    const left = amount.amount - back
    // What parts have left goes back by itself, so a part never takes the last of it.
    if (parts.length > 0 && (left < 1 || parts.some(part => part < 1)))
      yield `captured ${amount.amount}, gives back ${back} in ${parts.length} parts`
    if (parts.length > 0 && (state === 'started' || state === 'void')) yield 'gives back parts of nothing'
  }
  if (order.paidAtMs !== undefined && (order.reason === 'unpaid' || order.reason === 'cancelled'))
    yield 'was paid, and released as well'
  if (!quiet) return
  if (captured.length > 0 && order.state !== 'paid') yield 'its money was kept'
  if (order.state === 'paid' && captured.length === 0) yield 'is paid without a captured payment'
  if (order.reason === 'refunded' && refunds.length === 0) yield 'is refunded without a refund'
}
