/**
 * Promise 5: first come, first served, in the order the gate receives them.
 *
 * What can be told from outside: a buyer answered "sold out" proves that at some moment before the answer nothing was left (for
 * "not enough": only `left` units). A buyer who *began* to ask after that answer came later, and can only have got those few units, or
 * units that came back or were added. So, for each such refusal:
 *
 *     units of orders whose first ask began after the refusal was answered ≤ left + came back + added
 *
 * It gives no false alarms under concurrency:
 * - asks that overlap the refusal are not counted: which of them came to the gate first is not known outside;
 * - an order counts from the first ask of its attempt, answered or not: a retry may only be told of what an earlier, lost ask took;
 * - units that came back count whenever it was: the ledger's clock and the askers' are not comparable;
 * - a new epoch sets free what was reserved but never placed, without a trace. So a refusal accuses only orders of an epoch that is
 *   known to have begun before the refusal was asked for: one of its orders had been told by then. Orders whose epoch is not known
 *   are left out.
 *
 * What it can't see: who was served first among those who overlapped. That is the gate's own suite. A draw has no first comer.
 */

import type { ItemFacts, OrderFacts, Snapshot, Told, Violation } from './snapshot.ts'

interface Served {
  readonly order: OrderFacts
  /** When the first ask of this attempt began. */
  readonly firstAskMs: number
  /** When a buyer was first told of it. */
  readonly toldMs: number
}

export function* firstCome({ items, orders, told }: Snapshot): Iterable<Violation> {
  if (orders === undefined) return
  const toldByItem = Map.groupBy(told, one => one.item)
  const ordersByItem = Map.groupBy(orders, order => order.item)
  for (const item of items)
    if (item.rule !== 'draw') yield* ofItem(item, ordersByItem.get(item.item) ?? [], toldByItem.get(item.item) ?? [])
}

function* ofItem(item: ItemFacts, orders: readonly OrderFacts[], told: readonly Told[]): Iterable<Violation> {
  const cameBack = orders.reduce((sum, order) => sum + (order.state === 'closed' ? order.quantity : 0), 0)
  const added = item.changes.reduce((sum, change) => sum + Math.max(0, change.taken), 0)
  for (const [epoch, served] of Map.groupBy(serve(orders, told), one => one.order.epoch)) {
    if (epoch === undefined) continue
    const begunMs = served.reduce((first, one) => Math.min(first, one.toldMs), Number.POSITIVE_INFINITY)
    const late = laterThan(served)
    for (const refusal of told) {
      const left = leftAt(refusal)
      if (left === undefined || refusal.askedAtMs < begunMs) continue
      const after = late(refusal.answeredAtMs)
      if (after.units <= left + cameBack + added) continue
      yield {
        promise: 5,
        message:
          `item ${item.item}: buyer ${refusal.buyer} was told ${refusal.answer.kind} with ${left} left, then ${after.units} units went ` +
          `to buyers who came later (${cameBack} came back, ${added} were added)`,
        ids: [item.item, ...after.orders().slice(0, 10)],
      }
      // The same later orders would break it for thousands of refused buyers: one is enough to act on.
      break
    }
  }
}

/** How many units were left at some moment between ask and answer, when the answer proves it. */
function leftAt({ answer }: Told): number | undefined {
  if (answer.kind === 'sold_out') return 0
  return answer.kind === 'not_enough' ? answer.left : undefined
}

/** Orders that took units, with the asks that can have led to them. */
function serve(orders: readonly OrderFacts[], told: readonly Told[]): Served[] {
  const asks = Map.groupBy(told, one => `${one.attempt} ${one.buyer}`)
  const served: Served[] = []
  for (const order of orders) {
    if (order.reason === 'refused') continue
    const mine = asks.get(`${order.attempt} ${order.buyer}`)
    if (mine === undefined) continue
    let firstAskMs = Number.POSITIVE_INFINITY
    let toldMs = Number.POSITIVE_INFINITY
    for (const { askedAtMs, answeredAtMs, answer } of mine) {
      firstAskMs = Math.min(firstAskMs, askedAtMs)
      if ('order' in answer && answer.order.id === order.id) toldMs = Math.min(toldMs, answeredAtMs)
    }
    served.push({ order, firstAskMs, toldMs })
  }
  return served
}

/** Units and orders whose first ask began after a moment. Sorted once, so that every refusal costs a search. */
function laterThan(served: readonly Served[]): (ms: number) => { units: number; orders: () => string[] } {
  const latestFirst = served.toSorted((a, b) => b.firstAskMs - a.firstAskMs)
  const units: number[] = [0]
  for (const { order } of latestFirst) units.push((units.at(-1) ?? 0) + order.quantity)
  return ms => {
    let [low, high] = [0, latestFirst.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((latestFirst[middle]?.firstAskMs ?? 0) > ms) low = middle + 1
      else high = middle
    }
    return { units: units[low] ?? 0, orders: () => latestFirst.slice(0, low).map(one => one.order.id) }
  }
}
