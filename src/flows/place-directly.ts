/**
 * One batch of asks for one item behind the `ledger` door: decided and placed in one transaction, door and epoch checked under the item
 * lock (E5, E10). For small sales without a gate, and for all while the gate is away.
 *
 * So many batches at a time over all items as the ledger can bear; the others wait their turn. A ledger that does not answer in time is
 * busy for the buyers, and its call keeps its turn until it has ended: what it committed is found by asking again.
 */

import { assert, unreachable } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { faultPoint } from '../base/fault-points.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { FarGate } from '../gate/far-gate.ts'
import type { Ask } from '../gate/gate.ts'
import type { DirectPlacing, DirectReply, Orders } from '../ledger/orders.ts'
import type { NewsListener } from './news.ts'
import { BUSY, type Decision, type Followed, SOLD_OUT } from './on-sale.ts'
import { notNow } from './reserve-batch.ts'

interface PlaceDirectlyParts {
  readonly orders: Pick<Orders, 'placeDirectly'>
  readonly far: Pick<FarGate, 'reserved' | 'nowMs'>
  readonly news: Pick<NewsListener, 'orderChanged'>
  /** Shared by all items of the process. */
  readonly turns: Turns
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  /** The door or the epoch is another by now. Must not throw. */
  readonly onStale: (onSale: Followed) => void
  readonly alarm: (what: 'foreign_order_id', fields: Readonly<Record<string, unknown>>) => void
}

/** How long a batch waits for its turn and for the ledger before its buyers are told to ask again. */
const PLACE_WAIT_MS = 3_000

export async function placeDirectly(
  parts: PlaceDirectlyParts,
  onSale: Followed,
  asks: readonly Ask[],
): Promise<readonly Decision[]> {
  const answered = new AbortController()
  let late = false
  try {
    return await Promise.race([
      parts.turns.take(async () => (late ? asks.map(() => BUSY) : place(parts, onSale, asks))),
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
async function place(parts: PlaceDirectlyParts, onSale: Followed, asks: readonly Ask[]): Promise<readonly Decision[]> {
  const item = onSale.item.id
  const busy = () => asks.map(() => BUSY)
  // The line may have been withdrawn while it waited.
  if (!onSale.current) return busy()
  let reply: DirectReply
  try {
    const before = faultPoint('place.before')
    if (before) await before
    const askedAtMs = parts.clock.elapsed()
    const reservedAtMs = parts.far.nowMs()
    reply = await parts.orders.placeDirectly(
      item,
      onSale.epoch,
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
    parts.onStale(onSale)
    return busy()
  }
  return decide(parts, onSale, asks, reply)
}

function decide(
  parts: PlaceDirectlyParts,
  onSale: Followed,
  asks: readonly Ask[],
  reply: Exclude<DirectReply, { readonly status: 'stale' }>,
): readonly Decision[] {
  const { available, placings, status } = reply
  assert(placings.length === asks.length, `the ledger gave ${placings.length} answers to ${asks.length} asks`)
  onSale.version += 1
  const decisions = asks.map((ask, i) => one(ask, placings[i]!))
  const buyers = asks.filter((_, i) => placings[i]!.verdict === 'placed').map(ask => ask.buyer)
  parts.far.reserved(onSale.item.id, onSale.epoch, onSale.version, available, buyers)
  return decisions

  function one(ask: Ask, placing: DirectPlacing): Decision {
    switch (placing.verdict) {
      case 'placed':
        assert(placing.order.buyer === ask.buyer, `order ${ask.order} was placed for another buyer`)
        parts.meters.count('orders', 'placed')
        parts.news.orderChanged(placing.order)
        return { kind: 'placed', order: placing.order }
      case 'same':
        assert(placing.order.buyer === ask.buyer, `order ${placing.order.id} is another buyer's`)
        return { kind: 'same', order: placing.order }
      case 'not_enough':
        return available === 0 ? SOLD_OUT : { kind: 'not_enough', left: available }
      case 'attempts_used':
        return { kind: 'attempts_used' }
      case 'foreign':
        parts.alarm('foreign_order_id', { order: ask.order, item: onSale.item.id })
        return BUSY
      case 'not_now':
        return status === 'ok' ? BUSY : notNow(status, onSale)
      default:
        return unreachable(placing)
    }
  }
}

/** So many at a time, in the order they came. Few wait: each item has one batch, and those that gave up only pass their turn on. */
interface Turns {
  take<T>(work: () => Promise<T>): Promise<T>
}

export function createTurns(atOnceMax: number): Turns {
  const waiting: (() => void)[] = []
  let free = atOnceMax
  return {
    async take(work) {
      if (free > 0) free -= 1
      else await new Promise<void>(resolve => void waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) free += 1
        else next()
      }
    },
  }
}
