/**
 * Promise 1: for every item, at every moment, units in pending and paid orders ≤ units put on sale.
 *
 * Judged in three ways, since one wrong figure is enough to oversell: the ledger's sums now, the order rows over time (an oversell that a later
 * closing hid again), and the orders that buyers were told of, whether they are rows or not.
 * The walk through time trusts the ledger's clock, which stamps rows under the item lock.
 */

import type { ItemFacts, OrderFacts, Snapshot, StockChange } from './snapshot.ts'
import type { Violation } from './violation.ts'

export function noOversell(snapshot: Snapshot): Violation[] {
  const found: Violation[] = []
  for (const item of snapshot.items) {
    const add = (message: string) => found.push({ promise: 1, message, ids: [item.item] })
    const live = item.pending + item.paid
    if (live > item.units) add(`item ${item.item}: ${live} units in live orders, ${item.units} put on sale`)
    if (item.available < 0) add(`item ${item.item}: ${item.available} available`)
    if (item.gate !== undefined && item.gate.left < 0) add(`item ${item.item}: ${item.gate.left} left at the gate`)

    const orders = snapshot.orders?.filter(order => order.item === item.item)
    if (orders === undefined) continue
    const worst = mostOver(item, orders)
    if (worst > 0) add(`item ${item.item}: at one moment ${worst} units more in live orders than put on sale`)
    const told = unitsTold(snapshot, item, orders)
    if (told > unitsMost(item))
      add(`item ${item.item}: buyers hold answers for ${told} units, ${unitsMost(item)} put on sale`)
  }
  return found
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
  for (const change of item.changes.toSorted(byNumber)) {
    units += change.taken
    if (units > most) most = units
  }
  return most
}

function byNumber(one: StockChange, other: StockChange): number {
  return one.no - other.no
}
