/**
 * One batch of asks for one item: reserve at the gate, place in the ledger, answer. Behind an in-process gate there is no outbox:
 * nobody is told anything before the ledger has committed.
 *
 * From the moment the gate has taken units they are `unsettled`, and stay so until the ledger has answered for these very ids. A
 * COMMIT without an answer, or a ledger that is away, settles nothing: buyers hear `busy` within `PLACE_WAIT_MS`, the units stay held,
 * and the keeper places the same ids again, which has no second effect. Until that has worked nobody new is let in, so an absent ledger
 * costs everybody else one quick answer. Nobody releases on a guess.
 */

import { assert, unreachable } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { Patience } from '../../base/shared-timeout.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Ask, AskAnswer, Gate, Release } from '../../gate/gate.ts'
import type { Orders, PlaceAsk, Placing } from '../../ledger/orders.ts'
import type { MessageListener } from '../follow/messages.ts'
import { BUSY, type Decision, type LiveItem, OVER, PAUSED, SOLD_OUT } from './live-item.ts'

export interface DecideParts {
  readonly gate: Gate
  readonly orders: Orders
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  readonly messages: Pick<MessageListener, 'orderChanged'>
  /** The epoch is over: somebody else may sell the item. Must not throw. */
  readonly onStale: (liveItem: LiveItem) => void
  /** Of `PLACE_WAIT_MS`, shared by all items. */
  readonly timeout: Patience
  /** What should never happen and must not go unseen. */
  readonly alarm: (what: 'foreign_order_id' | 'ledger_refused', fields: Readonly<Record<string, unknown>>) => void
}

/** How long a batch waits for the ledger before its buyers are told to ask again; the placing itself goes on. */
export const PLACE_WAIT_MS = 3_000

export async function decideBatch(
  parts: DecideParts,
  liveItem: LiveItem,
  asks: readonly Ask[],
): Promise<readonly Decision[]> {
  if (!liveItem.current || liveItem.skewed || liveItem.unsettled.size > 0) return asks.map(() => BUSY)

  const before = faultPoint('reserve.before')
  if (before) await before
  const askedAtMs = parts.clock.elapsed()
  const reply = await parts.gate.reserve(liveItem.item.id, liveItem.epoch, asks)
  parts.meters.time('gate_reserve', parts.clock.elapsed() - askedAtMs)
  parts.meters.size('order_batch', asks.length)

  switch (reply.status) {
    case 'stale':
      parts.onStale(liveItem)
      return asks.map(() => BUSY)
    case 'busy':
    case 'unknown':
      return asks.map(() => BUSY)
    case 'ok':
    case 'early':
    case 'over':
    case 'paused':
      break
    default:
      unreachable(reply)
  }
  const { answers, status, left } = reply
  assert(answers.length === asks.length, `the gate gave ${answers.length} answers to ${asks.length} asks`)

  let reserved = 0
  for (let i = 0; i < asks.length; i++) {
    const answer = answers[i]!
    if (answer.code !== 'reserved') continue
    const { order, buyer, attempt, quantity } = asks[i]!
    liveItem.unsettled.set(order, { order, buyer, attempt, quantity, reservedAtMs: answer.reservedAtMs })
    reserved += 1
  }
  const after = faultPoint('reserve.after')
  if (after) await after
  const placed = reserved === 0 ? undefined : await parts.timeout(placeUnsettled(parts, liveItem))
  return asks.map((ask, i) => decide(ask, answers[i]!))

  function decide(ask: Ask, answer: AskAnswer): Decision {
    switch (answer.code) {
      case 'reserved':
        return toDecision(placed?.get(ask.order))
      case 'same': {
        // Twice in one batch: the twin's row may have been committed just now.
        const twin = placed?.get(answer.order)
        if (twin?.verdict === 'placed') return { kind: 'existing', order: answer.order }
        return liveItem.unsettled.has(answer.order) ? BUSY : { kind: 'existing', order: answer.order }
      }
      case 'same_closed':
        return { kind: 'existing', order: answer.order }
      case 'not_enough':
        return left === 0 ? SOLD_OUT : { kind: 'not_enough', left }
      case 'attempts_used':
        return { kind: 'attempts_used' }
      case 'wait':
        return BUSY
      case 'id_conflict':
        parts.alarm('foreign_order_id', { order: ask.order, item: liveItem.item.id })
        return BUSY
      case 'not_now':
        return status === 'over'
          ? OVER
          : status === 'paused'
            ? PAUSED
            : { kind: 'early', opensAtMs: liveItem.sale.opensAtMs }
      default:
        return unreachable(answer.code)
    }
  }
}

/** Places everything that is unsettled, oldest first. Undefined: the ledger did not answer, all of it stays unsettled. */
export async function placeUnsettled(
  parts: DecideParts,
  liveItem: LiveItem,
): Promise<ReadonlyMap<OrderId, Placing> | undefined> {
  const asks = [...liveItem.unsettled.values()]
  liveItem.placing += 1
  try {
    const before = faultPoint('place.before')
    if (before) await before
    const askedAtMs = parts.clock.elapsed()
    const reply = await parts.orders.place(liveItem.item.id, liveItem.epoch, false, asks)
    parts.meters.time('ledger_place', parts.clock.elapsed() - askedAtMs)
    const after = faultPoint('place.after')
    if (after) await after
    if (reply.status === 'stale') {
      parts.onStale(liveItem)
      return undefined
    }
    assert(
      reply.placings.length === asks.length,
      `the ledger gave ${reply.placings.length} answers to ${asks.length} reservations`,
    )
    return await settle(parts, liveItem, asks, reply.placings)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    parts.log.warn(
      { item: liveItem.item.id, unsettled: asks.length, code: error.code, err: error },
      'the ledger did not answer; reservations stay held',
    )
    return undefined
  } finally {
    liveItem.placing -= 1
  }
}

async function settle(
  parts: DecideParts,
  liveItem: LiveItem,
  asks: readonly PlaceAsk[],
  placings: readonly Placing[],
): Promise<ReadonlyMap<OrderId, Placing>> {
  const settled = new Map<OrderId, Placing>()
  const releases: Release[] = []
  for (let i = 0; i < asks.length; i++) {
    const ask = asks[i]!
    const placing = placings[i]!
    settled.set(ask.order, placing)
    if (placing.verdict === 'placed' || placing.verdict === 'refused') {
      parts.meters.count('orders', placing.verdict)
      parts.messages.orderChanged(placing.order)
    }
    if (stands(placing)) continue
    // Gate and ledger disagree: the ledger is the truth, the units go back to the gate, and somebody should look.
    releases.push({ order: ask.order, buyer: ask.buyer, attempt: ask.attempt, outcome: 'refused' })
    parts.alarm(placing.verdict === 'id_conflict' ? 'foreign_order_id' : 'ledger_refused', {
      order: ask.order,
      item: liveItem.item.id,
    })
  }
  if (releases.length > 0) {
    const done = await parts.gate.release(liveItem.item.id, liveItem.epoch, releases)
    if (done.status === 'stale') parts.onStale(liveItem)
  }
  for (const ask of asks) liveItem.unsettled.delete(ask.order)
  return settled
}

/** The same again may be a refusal whose first answer was lost: a refusal it stays. */
function stands(placing: Placing): boolean {
  return placing.verdict === 'placed' || (placing.verdict === 'same' && placing.order.reason !== 'refused')
}

function toDecision(placing: Placing | undefined): Decision {
  if (placing === undefined) return BUSY
  if (placing.verdict === 'same' && !stands(placing)) return toDecision({ verdict: 'refused', order: placing.order })
  switch (placing.verdict) {
    // The id was made by this very click: committed by an earlier try of the same batch is committed by this click.
    case 'placed':
    case 'same':
      return { kind: 'placed', order: placing.order }
    case 'refused':
      return placing.order.supersededBy === undefined
        ? SOLD_OUT
        : { kind: 'existing', order: placing.order.supersededBy }
    case 'id_conflict':
      return BUSY
    default:
      return unreachable(placing)
  }
}
