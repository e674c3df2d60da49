/**
 * A process places what it has acknowledged itself (E6): when the gate says `stale`, and when the ledger shows a newer epoch. Under the epoch
 * it was acknowledged under: it becomes a row, finds the row it has, or is refused by a row. Placing is idempotent, so a worker may have
 * placed it already, or do so at the same time.
 *
 * Dying in the middle leaves what the outbox holds. A ledger that does not answer leaves it remembered: the next round tries again.
 */

import { assertAnswered } from '../../base/assert.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Alarm } from '../../base/log.ts'
import type { Epoch, ItemId, OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Orders, Placing } from '../../ledger/orders.ts'
import type { SellContext } from '../sell/sell-context.ts'
import { READ_AFTER_MS } from './acknowledged-reservations.ts'

export interface HandOverContext
  extends Pick<SellContext, 'acknowledged' | 'waiters' | 'messages' | 'clock' | 'log' | 'meters'> {
  readonly orders: Pick<Orders, 'place' | 'find'>
  readonly alarm: Alarm<'foreign_order_id' | 'refused_acknowledged'>
}

const HANDED_AT_ONCE_MAX = 500
const READ_AT_ONCE_MAX = 500

/** Everything of this item that was acknowledged under an epoch below `epoch`. True when nothing older is held any more. */
export async function handOver(context: HandOverContext, item: ItemId, epoch: Epoch): Promise<boolean> {
  for (const older of context.acknowledged.olderThan(item, epoch)) {
    for (let i = 0; i < older.reservations.length; i += HANDED_AT_ONCE_MAX)
      await handBatch(context, item, older.epoch, older.reservations.slice(i, i + HANDED_AT_ONCE_MAX))
  }
  return !context.acknowledged.holdsOlder(item, epoch)
}

/** Everything, under whichever epoch, for a process that ends. True when nothing is held any more: its node id may be given back. */
export async function handOverAll(context: HandOverContext): Promise<boolean> {
  for (const item of context.acknowledged.items()) await handOver(context, item, Number.POSITIVE_INFINITY)
  return context.acknowledged.size() === 0
}

async function handBatch(
  context: HandOverContext,
  item: ItemId,
  epoch: Epoch,
  reservations: readonly Reservation[],
): Promise<void> {
  await faultPoint('handover.before')
  const asks = reservations.map(({ id: order, ...rest }) => ({ ...rest, order }))
  const reply = await context.orders.place(item, epoch, true, asks)
  await faultPoint('handover.after')
  if (reply.status !== 'ok') {
    context.log.error(
      { item, epoch, held: asks.length },
      'acknowledged reservations not placed; the next round tries again',
    )
    return
  }
  assertAnswered('the ledger', asks, reply.placings)
  for (let i = 0; i < asks.length; i++) settle(context, item, asks[i]!.order, reply.placings[i]!)
  context.meters.count('hand_overs', 'order', asks.length)
  context.log.warn({ item, epoch, orders: asks.length }, 'acknowledged reservations handed over to the ledger')
}

function settle(context: HandOverContext, item: ItemId, id: OrderId, placing: Placing): void {
  context.acknowledged.settled(id)
  if (placing.verdict === 'id_conflict') {
    context.alarm('foreign_order_id', { order: id, item })
    return
  }
  const { order } = placing
  if (placing.verdict !== 'same') context.meters.count('orders', placing.verdict)
  if (placing.verdict === 'refused' && order.supersededBy === undefined)
    context.alarm('refused_acknowledged', { order: id, item })
  seenInLedger(context, order)
}

/** An acknowledged order is in the ledger, as this row: clicks that wait for it are answered, and it is not remembered any more. */
function seenInLedger(context: HandOverContext, order: Order): void {
  context.acknowledged.settled(order.id)
  context.waiters.resolve(order)
  context.messages.orderChanged(order)
}

/** Messages of placed orders may get lost: an order that no message told of in time is read in the ledger. One round, once a second. */
export async function readAcknowledged(context: HandOverContext): Promise<void> {
  const startedAtMs = context.clock.elapsed()
  for (;;) {
    const due = context.acknowledged.due(startedAtMs, READ_AT_ONCE_MAX, startedAtMs + READ_AFTER_MS)
    for (const order of due.length === 0 ? [] : await context.orders.find(due)) seenInLedger(context, order)
    if (due.length < READ_AT_ONCE_MAX) return
  }
}
