/**
 * Promise 4: one live order per buyer and item, and the same attempt always leads to the same order, even a closed one, even when it is
 * sold out or over.
 *
 * From the rows: at most one live order per buyer and item, at most one order per attempt (refused ones do not count as attempts).
 * From what was told: one order id per attempt; and once an ask was answered with an order, no ask of that attempt that *began later*
 * hears a plain "no". Asks that overlap prove nothing, and `busy` or a lost answer is no "no". An attempt whose reservation was
 * explicitly refused is free again, so it is left out.
 */

import type { OrderFacts, Snapshot, Told, Violation } from './snapshot.ts'

const PLAIN_NO: ReadonlySet<Told['answer']['kind']> = new Set([
  'sold_out',
  'not_enough',
  'early',
  'paused',
  'over',
  'attempts_used',
  'rate_limited',
])

export function* oneLiveOrder({ orders = [], told }: Snapshot): Iterable<Violation> {
  const live = orders.filter(order => order.state !== 'closed')
  const taken = orders.filter(order => order.reason !== 'refused')
  const refused = new Set(orders.filter(order => order.reason === 'refused').map(order => order.id))
  yield* twice(live, order => key(order.buyer, order.item), 'live orders')
  yield* twice(taken, order => key(order.buyer, order.item, order.attempt), 'orders of one attempt')
  yield* toldApart(told, refused)
}

function* twice(
  orders: readonly OrderFacts[],
  keyOf: (order: OrderFacts) => string,
  what: string,
): Iterable<Violation> {
  for (const same of Map.groupBy(orders, keyOf).values()) {
    const [first] = same
    if (first === undefined || same.length === 1) continue
    const message = `buyer ${first.buyer} has ${same.length} ${what} for item ${first.item}`
    yield { promise: 4, message, ids: [first.item, ...same.map(order => order.id)] }
  }
}

function* toldApart(told: readonly Told[], refused: ReadonlySet<string>): Iterable<Violation> {
  for (const asks of Map.groupBy(told, one => key(one.buyer, one.item, one.attempt)).values()) {
    const ids = new Set<string>()
    let firstAnswerMs = Number.POSITIVE_INFINITY
    for (const { attempt, answer, answeredAtMs } of asks) {
      // A buyer with a live order is given that one under any attempt: it says nothing about the attempt that was asked for.
      if (!('order' in answer) || answer.order.attempt !== attempt || refused.has(answer.order.id)) continue
      ids.add(answer.order.id)
      firstAnswerMs = Math.min(firstAnswerMs, answeredAtMs)
    }
    const [first] = asks
    if (first === undefined || ids.size === 0) continue
    const who = `buyer ${first.buyer}, item ${first.item}, attempt ${first.attempt}`
    if (ids.size > 1) yield { promise: 4, message: `${who}: told of ${ids.size} orders`, ids: [first.item, ...ids] }
    const no = asks.find(ask => ask.askedAtMs > firstAnswerMs && PLAIN_NO.has(ask.answer.kind))
    if (no === undefined) continue
    const message = `${who}: had an order and was then told ${no.answer.kind}`
    yield { promise: 4, message, ids: [first.item, ...ids] }
  }
}

function key(...parts: readonly (string | number)[]): string {
  return JSON.stringify(parts)
}
