/**
 * A process places what it has acknowledged itself (E6): when the gate says `stale`, and when the ledger shows a newer epoch. Under the epoch
 * it was acknowledged under: it becomes a row, finds the row it has, or is refused by a row. Placing is idempotent, so a worker may have
 * placed it already, or do so at the same time.
 *
 * Dying in the middle leaves what the outbox holds. A ledger that does not answer leaves it remembered: the next round tries again.
 */

import { assert } from '../../base/assert.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { Epoch, ItemId, OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Orders, Placing } from '../../ledger/orders.ts'
import type { PlacementWaiters } from '../sell/placement-waiters.ts'
import type { AcknowledgedReservations } from './acknowledged-reservations.ts'
import type { MessageListener } from './messages.ts'

export interface HandOverParts {
  readonly orders: Pick<Orders, 'place' | 'find'>
  readonly acknowledged: AcknowledgedReservations
  readonly waiters: Pick<PlacementWaiters, 'resolve'>
  readonly messages: Pick<MessageListener, 'orderChanged'>
  readonly log: Log
  readonly meters: Meters
  readonly alarm: (what: 'foreign_order_id' | 'refused_acknowledged', fields: Readonly<Record<string, unknown>>) => void
}

const HANDED_AT_ONCE_MAX = 500
const READ_AT_ONCE_MAX = 500

/** Everything of this item that was acknowledged under an epoch below `epoch`. True when nothing older is held any more. */
export async function handOver(parts: HandOverParts, item: ItemId, epoch: Epoch): Promise<boolean> {
  for (const older of parts.acknowledged.olderThan(item, epoch)) {
    for (let i = 0; i < older.reservations.length; i += HANDED_AT_ONCE_MAX)
      await handBatch(parts, item, older.epoch, older.reservations.slice(i, i + HANDED_AT_ONCE_MAX))
  }
  return !parts.acknowledged.holdsOlder(item, epoch)
}

/** Everything, under whichever epoch, for a process that ends. True when nothing is held any more: its node id may be given back. */
export async function handOverAll(parts: HandOverParts): Promise<boolean> {
  for (const item of parts.acknowledged.items()) await handOver(parts, item, Number.POSITIVE_INFINITY)
  return parts.acknowledged.size() === 0
}

async function handBatch(
  parts: HandOverParts,
  item: ItemId,
  epoch: Epoch,
  reservations: readonly Reservation[],
): Promise<void> {
  const before = faultPoint('handover.before')
  if (before) await before
  const asks = reservations.map(({ id, buyer, attempt, quantity, reservedAtMs }) => ({
    order: id,
    buyer,
    attempt,
    quantity,
    reservedAtMs,
  }))
  const reply = await parts.orders.place(item, epoch, true, asks)
  const after = faultPoint('handover.after')
  if (after) await after
  if (reply.status !== 'ok') {
    parts.log.error(
      { item, epoch, held: asks.length },
      'acknowledged reservations not placed; the next round tries again',
    )
    return
  }
  assert(
    reply.placings.length === asks.length,
    `the ledger gave ${reply.placings.length} answers to ${asks.length} reservations`,
  )
  for (let i = 0; i < asks.length; i++) settle(parts, item, asks[i]!.order, reply.placings[i]!)
  parts.meters.count('hand_overs', 'order', asks.length)
  parts.log.warn({ item, epoch, orders: asks.length }, 'acknowledged reservations handed over to the ledger')
}

function settle(parts: HandOverParts, item: ItemId, id: OrderId, placing: Placing): void {
  parts.acknowledged.settled(id)
  if (placing.verdict === 'id_conflict') {
    parts.alarm('foreign_order_id', { order: id, item })
    return
  }
  const { order } = placing
  if (placing.verdict !== 'same') parts.meters.count('orders', placing.verdict)
  if (placing.verdict === 'refused' && order.supersededBy === undefined)
    parts.alarm('refused_acknowledged', { order: id, item })
  seenInLedger(parts, order)
}

/** An acknowledged order is in the ledger, as this row: clicks that wait for it are answered, and it is not remembered any more. */
function seenInLedger(parts: Pick<HandOverParts, 'acknowledged' | 'waiters' | 'messages'>, order: Order): void {
  parts.acknowledged.settled(order.id)
  parts.waiters.resolve(order)
  parts.messages.orderChanged(order)
}

/** Messages of placed orders may get lost: an order that no message told of in time is read in the ledger. One round, once a second. */
export async function readAcknowledged(
  parts: HandOverParts & { readonly clock: { elapsed(): number }; readonly readAgainAfterMs: number },
): Promise<void> {
  const startedAtMs = parts.clock.elapsed()
  for (;;) {
    const due = parts.acknowledged.due(startedAtMs, READ_AT_ONCE_MAX, startedAtMs + parts.readAgainAfterMs)
    for (const order of due.length === 0 ? [] : await parts.orders.find(due)) seenInLedger(parts, order)
    if (due.length < READ_AT_ONCE_MAX) return
  }
}
