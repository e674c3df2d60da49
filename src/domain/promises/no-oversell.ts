/**
 * Promise 1: for every item, at every moment, units in pending and paid orders ≤ units put on sale.
 *
 * Judged in three ways, since one wrong figure is enough to oversell: the ledger's sums now, the order rows over time (an oversell that a later
 * closing hid again), and the orders that buyers were told of, whether they are rows or not.
 * The walk through time trusts the ledger's clock, which stamps rows under the item lock.
 */

import type { ItemFacts, OrderFacts, Snapshot, Violation } from './snapshot.ts'

export function* noOversell(snapshot: Snapshot): Iterable<Violation> {
  for (const item of snapshot.items)
    for (const wrong of wrongs(snapshot, item))
      yield { promise: 1, message: `item ${item.item}: ${wrong}`, ids: [item.item] }
}

function* wrongs(snapshot: Snapshot, item: ItemFacts): Iterable<string> {
  const live = item.pending + item.paid
  if (live > item.units) yield `${live} units in live orders, ${item.units} put on sale`
  if (item.available < 0) yield `${item.available} available`
  if (item.gate !== undefined && item.gate.left < 0) yield `${item.gate.left} left at the gate`

  const orders = snapshot.orders?.filter(order => order.item === item.item)
  if (orders === undefined) return
  const worst = mostOver(item, orders)
  if (worst > 0) yield `at one moment ${worst} units more in live orders than put on sale`
  const told = unitsTold(snapshot, item, orders)
  if (told > unitsMost(item)) yield `buyers hold answers for ${told} units, ${unitsMost(item)} put on sale`
}

/** By how much the live units exceeded the units when it was worst. Within one millisecond, what helps comes first. */
function mostOver(item: ItemFacts, orders: readonly OrderFacts[]): number {
  const moves: { atMs: number; over: number }[] = []
  for (const change of item.changes) moves.push({ atMs: change.atMs, over: -change.taken })
  for (const order of orders) {
    if (order.reason === 'refused') continue
    moves.push({ atMs: order.placedAtMs, over: order.quantity })
    if (order.closedAtMs !== undefined) moves.push({ atMs: order.closedAtMs, over: -order.quantity })
  }
  moves.sort((a, b) => a.atMs - b.atMs || a.over - b.over)
  let over = -unitsFirst(item)
  let worst = over
  for (const move of moves) {
    over += move.over
    if (over > worst) worst = over
  }
  return worst
}

/** Units of the distinct orders that buyers were told of, without those the ledger has closed since. */
function unitsTold(snapshot: Snapshot, item: ItemFacts, orders: readonly OrderFacts[]): number {
  const closed = new Set(orders.filter(order => order.state === 'closed').map(order => order.id))
  const units = new Map<string, number>()
  for (const { item: of, answer } of snapshot.told) {
    if (of !== item.item || !('order' in answer)) continue
    if (answer.order.state !== 'closed' && !closed.has(answer.order.id))
      units.set(answer.order.id, answer.order.quantity)
  }
  return [...units.values()].reduce((sum, quantity) => sum + quantity, 0)
}

function unitsFirst(item: ItemFacts): number {
  return item.changes.reduce((units, change) => units - change.taken, item.units)
}

/** Answers carry no time that compares with the changes', so what was told is held against the most there ever was. */
function unitsMost(item: ItemFacts): number {
  let units = unitsFirst(item)
  let most = units
  for (const change of item.changes.toSorted((one, other) => one.no - other.no)) {
    units += change.taken
    if (units > most) most = units
  }
  return most
}
