/**
 * A process places what it has acknowledged itself (E6): when the gate says `stale`, when the ledger shows a newer epoch, and when it does
 * not follow the sale any more. Under the epoch it was acknowledged under: it becomes a row, finds the row it has, or is refused by a row.
 * Placing is idempotent, so a worker may have placed it already, or do so at the same time.
 *
 * One that the ledger can't place holds up no other: it gets a dead letter and a refusal row (`place-acknowledged.ts`).
 *
 * Dying in the middle leaves what the outbox holds. A ledger that does not answer leaves it remembered: the next round tries again.
 */

import { eachOf } from '../../base/each-of.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Orders } from '../../ledger/orders.ts'
import { type AcknowledgedContext, placeAcknowledged } from '../place/place-acknowledged.ts'
import type { SellContext } from '../sell/sell-context.ts'
import { READ_AFTER_MS } from './acknowledged-reservations.ts'

export interface HandOverContext
  extends AcknowledgedContext,
    Pick<SellContext, 'acknowledged' | 'waiters' | 'messages'> {
  readonly orders: Pick<Orders, 'place' | 'refuse' | 'find'>
  /** Entries of this item may wait of which no worker knows. */
  readonly wake?: (item: ItemId, epoch: Epoch) => void
}

const HANDED_AT_ONCE_MAX = 500
const READ_AT_ONCE_MAX = 500
/** Each takes a connection while the ledger works on it, or while it waits for a lock. */
export const ITEMS_AT_ONCE_MAX = 4

/**
 * Everything of this item that was acknowledged under an epoch below `epoch`. `more`: some was acknowledged meanwhile. `stuck`: some could be
 * neither placed nor refused, for a reason that is no fault of the ledger.
 */
export async function handOver(
  context: HandOverContext,
  item: ItemId,
  epoch: Epoch,
): Promise<'done' | 'more' | 'stuck'> {
  let stuck = 0
  for (const older of context.acknowledged.olderThan(item, epoch)) {
    for (let i = 0; i < older.reservations.length; i += HANDED_AT_ONCE_MAX)
      stuck += await handBatch(context, item, older.epoch, older.reservations.slice(i, i + HANDED_AT_ONCE_MAX))
  }
  if (stuck > 0) return 'stuck'
  return context.acknowledged.holdsOlder(item, epoch) ? 'more' : 'done'
}

/**
 * Everything, under whichever epoch, for a process that ends. True when nothing is held any more: its node id may be given back. A fault of
 * one item is thrown after all had their turn.
 */
export async function handOverAll(context: HandOverContext): Promise<boolean> {
  await eachOf(context.acknowledged.items(), ITEMS_AT_ONCE_MAX, item =>
    handOver(context, item, Number.POSITIVE_INFINITY),
  )
  return context.acknowledged.size() === 0
}

/** Returns how many are stuck: each is remembered until both its dead letter and its refusal are rows. */
async function handBatch(
  context: HandOverContext,
  item: ItemId,
  epoch: Epoch,
  reservations: readonly Reservation[],
): Promise<number> {
  const { acknowledged, meters, log } = context
  const asks = reservations.map(({ id: order, ...rest }) => ({ ...rest, order }))
  const source = { item, epoch, faultPoints: 'handover', entryOf: () => 'hand-over' } as const
  let stuck = 0
  await placeAcknowledged(context, source, asks, ({ order: id }, outcome) => {
    if (outcome.verdict === 'stuck') {
      stuck += 1
      return
    }
    acknowledged.settled(id)
    if (outcome.order !== undefined) seenInLedger(context, outcome.order)
  })
  const orders = asks.length - stuck
  meters.count('hand_overs', 'order', orders)
  log.warn({ event: 'handed_over', item, epoch, orders, stuck }, 'acknowledged reservations handed over to the ledger')
  return stuck
}

/** An acknowledged order is in the ledger, as this row: clicks that wait for it are answered, and it is not remembered any more. */
function seenInLedger(context: HandOverContext, order: Order): void {
  context.acknowledged.settled(order.id)
  context.waiters.resolve(order)
  context.messages.orderChanged(order)
}

/**
 * Messages of placed orders may get lost: an order that no message told of in time is read in the ledger. If it is not there, the message that
 * wakes the workers may be lost too: they are woken again. One round, once a second.
 */
export async function readAcknowledged(context: HandOverContext): Promise<void> {
  const startedAtMs = context.clock.elapsed()
  for (;;) {
    const due = context.acknowledged.due(startedAtMs, READ_AT_ONCE_MAX, startedAtMs + READ_AFTER_MS)
    for (const order of due.length === 0 ? [] : await context.orders.find(due)) seenInLedger(context, order)
    const unplaced = new Map<ItemId, Epoch>()
    for (const id of due) {
      const known = context.acknowledged.find(id)
      if (known !== undefined) unplaced.set(known.reservation.item, known.epoch)
    }
    for (const [item, epoch] of unplaced) context.wake?.(item, epoch)
    if (due.length < READ_AT_ONCE_MAX) return
  }
}
