/**
 * Parameters and answers of `place` and `place_directly`. Most orders of a batch are simply placed and share times and price; only the others
 * come back as rows (`odd`).
 */

import { assert } from '../../base/assert.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { DirectPlacing, DirectReply, PlaceAsk, PlaceReply, Placing } from '../orders.ts'
import type { Row } from './connection/database.ts'
import { number, optional, text, time, toOrder } from './rows.ts'

/** Five parallel arrays in arrival order: ids, buyers, attempts, quantities, reserved at. */
export function askArrays(asks: readonly PlaceAsk[]): unknown[] {
  return [
    arrayOf(asks.map(ask => ask.order)),
    asks.map(ask => ask.buyer),
    arrayOf(asks.map(ask => ask.attempt)),
    arrayOf(asks.map(ask => ask.quantity)),
    arrayOf(asks.map(ask => Math.trunc(ask.reservedAtMs))),
  ]
}

/** PostgreSQL's array literal for ids and numbers, without the quotes that the driver would add to each. */
export function arrayOf(values: readonly (string | number)[]): string {
  return `{${values.join(',')}}`
}

export function toPlaceReply(row: Row, item: ItemId, epoch: Epoch, asks: readonly PlaceAsk[]): PlaceReply {
  const status = text(row, 'status') as PlaceReply['status'] | 'no_item'
  assert(status !== 'no_item', `item ${item} is not in the ledger`)
  if (status === 'stale') return { status }
  const batch = readBatch<'same' | 'refused' | 'foreign'>(row, item, epoch)
  const placings = asks.map((ask, i): Placing => {
    const odd = batch.odd(i)
    if (odd === undefined) return { verdict: 'placed', order: batch.placed(ask) }
    if (odd.verdict === 'foreign') return { verdict: 'id_conflict' }
    const order = batch.existing(odd, ask)
    assert(order.id === ask.order, `order ${order.id} answers the ask ${ask.order}`)
    return { verdict: odd.verdict, order }
  })
  return { status: 'ok', available: batch.available, placings }
}

export function toDirectReply(row: Row, item: ItemId, epoch: Epoch, asks: readonly PlaceAsk[]): DirectReply {
  const status = text(row, 'status') as DirectReply['status'] | 'no_item'
  assert(status !== 'no_item', `item ${item} is not in the ledger`)
  if (status === 'stale') return { status }
  const batch = readBatch<Exclude<DirectPlacing['verdict'], 'placed' | 'id_conflict'> | 'foreign'>(row, item, epoch)
  const placings = asks.map((ask, i): DirectPlacing => {
    const odd = batch.odd(i)
    if (odd === undefined) {
      assert(status === 'ok', `order ${ask.order} was placed although it is ${status}`)
      return { verdict: 'placed', order: batch.placed(ask) }
    }
    if (odd.verdict === 'same') return { verdict: 'same', order: batch.existing(odd, ask) }
    return { verdict: odd.verdict === 'foreign' ? 'id_conflict' : odd.verdict }
  })
  return { status, available: batch.available, placings }
}

interface Oddity<V> {
  readonly i: number
  readonly verdict: V
  readonly order?: Row
}

/** The columns that both functions answer. */
function readBatch<V>(row: Row, item: ItemId, epoch: Epoch) {
  const sale = text(row, 'sale')
  const price = { amount: number(row, 'price_minor'), currency: text(row, 'currency') }
  const placedAtMs = time(row, 'placed_at')
  const payByMs = time(row, 'pay_by')
  const payAgainMs = optional(row, 'pay_again', time) ?? payByMs
  const odd = new Map(((row.odd ?? []) as Oddity<V>[]).map(oddity => [oddity.i, oddity]))
  return {
    available: number(row, 'available'),
    odd: (i: number) => (odd.size === 0 ? undefined : odd.get(i)),
    existing(oddity: Oddity<V>, ask: PlaceAsk): Order {
      assert(oddity.order !== undefined, 'an odd placing without its order')
      const order = toOrder({ ...oddity.order, item, sale })
      assert(order.buyer === ask.buyer, `another buyer's order ${order.id} answers the ask ${ask.order}`)
      return order
    },
    placed: (ask: PlaceAsk): Order => ({
      id: ask.order,
      sale,
      item,
      buyer: ask.buyer,
      attempt: ask.attempt,
      quantity: ask.quantity,
      price,
      state: 'pending',
      reason: undefined,
      supersededBy: undefined,
      epoch,
      reservedAtMs: ask.reservedAtMs,
      placedAtMs,
      payByMs: ask.attempt > 1 ? payAgainMs : payByMs,
      paidAtMs: undefined,
      closedAtMs: undefined,
      version: 1,
      payment: undefined,
    }),
  }
}
