/**
 * One batch of asks for one item behind the `ledger` door: decided and placed in one transaction, door and epoch checked under the item
 * lock (E5, E10). For small sales without a gate, and for all while the gate is away.
 *
 * So many batches at a time over all items as the ledger can bear; the others wait their turn. A ledger that does not answer in time is
 * busy for the buyers, and its call keeps its turn until it has ended: what it committed is found by asking again.
 */

import { assert, unreachable } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { Semaphore } from '../../base/semaphore.ts'
import type { Ask } from '../../gate/gate.ts'
import type { GateCache } from '../../gate/gate-cache.ts'
import type { DirectPlacing, DirectReply, Orders } from '../../ledger/orders.ts'
import type { MessageListener } from '../follow/messages.ts'
import { BUSY, type Decision, type Followed, SOLD_OUT } from './live-item.ts'
import { notNow } from './reserve-batch.ts'

interface PlaceDirectlyParts {
  readonly orders: Pick<Orders, 'placeDirectly'>
  readonly far: Pick<GateCache, 'reserved' | 'nowMs'>
  readonly messages: Pick<MessageListener, 'orderChanged'>
  /** Shared by all items of the process. */
  readonly semaphore: Semaphore
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** The door or the epoch is another by now. Must not throw. */
  readonly onStale: (liveItem: Followed) => void
  readonly alarm: (what: 'foreign_order_id', fields: Readonly<Record<string, unknown>>) => void
}

/** How long a batch waits for its turn and for the ledger before its buyers are told to ask again. */
const PLACE_WAIT_MS = 3_000

export async function placeDirectly(
  parts: PlaceDirectlyParts,
  liveItem: Followed,
  asks: readonly Ask[],
): Promise<readonly Decision[]> {
  const answered = new AbortController()
  let late = false
  try {
    return await Promise.race([
      parts.semaphore.run(async () => (late ? asks.map(() => BUSY) : place(parts, liveItem, asks))),
      parts.clock.sleep(PLACE_WAIT_MS, answered.signal).then(() => {
        late = true
        return asks.map(() => BUSY)
      }),
    ])
  } finally {
    answered.abort()
  }
}

/** Never fails on a fault, so that nobody has to wait for it. */
async function place(
  parts: PlaceDirectlyParts,
  liveItem: Followed,
  asks: readonly Ask[],
): Promise<readonly Decision[]> {
  const item = liveItem.item.id
  const busy = () => asks.map(() => BUSY)
  // The line may have been withdrawn while it waited.
  if (!liveItem.current) return busy()
  let reply: DirectReply
  try {
    const before = faultPoint('place.before')
    if (before) await before
    const askedAtMs = parts.clock.elapsed()
    const reservedAtMs = parts.far.nowMs()
    reply = await parts.orders.placeDirectly(
      item,
      liveItem.epoch,
      asks.map(({ order, buyer, attempt, quantity }) => ({ order, buyer, attempt, quantity, reservedAtMs })),
    )
    parts.meters.time('ledger_place', parts.clock.elapsed() - askedAtMs)
    parts.meters.size('order_batch', asks.length)
    const after = faultPoint('place.after')
    if (after) await after
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    parts.log.warn({ item, asks: asks.length, code: error.code, err: error }, 'the ledger did not answer')
    return busy()
  }
  if (reply.status === 'stale') {
    parts.onStale(liveItem)
    return busy()
  }
  return decide(parts, liveItem, asks, reply)
}

function decide(
  parts: PlaceDirectlyParts,
  liveItem: Followed,
  asks: readonly Ask[],
  reply: Exclude<DirectReply, { readonly status: 'stale' }>,
): readonly Decision[] {
  const { available, placings, status } = reply
  assert(placings.length === asks.length, `the ledger gave ${placings.length} answers to ${asks.length} asks`)
  liveItem.version += 1
  const decisions = asks.map((ask, i) => one(ask, placings[i]!))
  const buyers = asks.filter((_, i) => placings[i]!.verdict === 'placed').map(ask => ask.buyer)
  const { epoch, version } = liveItem
  parts.far.reserved(liveItem.item.id, { epoch, version, left: available }, buyers)
  return decisions

  function one(ask: Ask, placing: DirectPlacing): Decision {
    switch (placing.verdict) {
      case 'placed':
        assert(placing.order.buyer === ask.buyer, `order ${ask.order} was placed for another buyer`)
        parts.meters.count('orders', 'placed')
        parts.messages.orderChanged(placing.order)
        return { kind: 'placed', order: placing.order }
      case 'same':
        assert(placing.order.buyer === ask.buyer, `order ${placing.order.id} is another buyer's`)
        return { kind: 'same', order: placing.order }
      case 'not_enough':
        return available === 0 ? SOLD_OUT : { kind: 'not_enough', left: available }
      case 'attempts_used':
        return { kind: 'attempts_used' }
      case 'id_conflict':
        parts.alarm('foreign_order_id', { order: ask.order, item: liveItem.item.id })
        return BUSY
      case 'not_now':
        return status === 'ok' ? BUSY : notNow(status, liveItem)
      default:
        return unreachable(placing)
    }
  }
}
