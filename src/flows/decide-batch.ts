/**
 * One batch of asks for one item: reserve at the gate, place in the ledger, answer. Behind an in-process gate there is no outbox:
 * nobody is told anything before the ledger has committed.
 *
 * From the moment the gate has taken pieces they are `unsettled`, and stay so until the ledger has answered for these very ids. A
 * COMMIT without an answer, or a ledger that is away, settles nothing: buyers hear `busy` within `PLACE_WAIT_MS`, the pieces stay held,
 * and the keeper places the same ids again, which has no second effect. Until that has worked nobody new is let in, so an absent ledger
 * costs everybody else one quick answer. Nobody releases on a guess.
 */

import { assert, unreachable } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { faultPoint } from '../base/fault-points.ts'
import type { Log } from '../base/log.ts'
import type { Meters } from '../base/meters.ts'
import type { Patience } from '../base/patience.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Ask, AskAnswer, Gate, Release } from '../gate/gate.ts'
import type { Orders, PlaceAsk, Placing } from '../ledger/orders.ts'
import type { NewsListener } from './news.ts'
import { BUSY, type Decision, type OnSale, OVER, PAUSED, SOLD_OUT } from './on-sale.ts'

export interface DecideParts {
  readonly gate: Gate
  readonly orders: Orders
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  readonly news: Pick<NewsListener, 'orderChanged'>
  /** The epoch is over: somebody else may sell the item. Must not throw. */
  readonly onStale: (onSale: OnSale) => void
  /** Of `PLACE_WAIT_MS`, shared by all items. */
  readonly patience: Patience
  /** What should never happen and must not go unseen. */
  readonly alarm: (what: 'foreign_order_id' | 'ledger_refused', fields: Readonly<Record<string, unknown>>) => void
}

/** How long a batch waits for the ledger before its buyers are told to ask again; the placing itself goes on. */
export const PLACE_WAIT_MS = 3_000

export async function decideBatch(
  parts: DecideParts,
  onSale: OnSale,
  asks: readonly Ask[],
): Promise<readonly Decision[]> {
  if (!onSale.current || onSale.skewed || onSale.unsettled.size > 0) return asks.map(() => BUSY)

  const before = faultPoint('reserve.before')
  if (before) await before
  const askedAtMs = parts.clock.elapsed()
  const reply = await parts.gate.reserve(onSale.item.id, onSale.epoch, asks)
  parts.meters.time('gate_reserve', parts.clock.elapsed() - askedAtMs)
  parts.meters.size('order_batch', asks.length)

  switch (reply.status) {
    case 'stale':
      parts.onStale(onSale)
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
    onSale.unsettled.set(order, { order, buyer, attempt, quantity, reservedAtMs: answer.reservedAtMs })
    reserved += 1
  }
  const after = faultPoint('reserve.after')
  if (after) await after
  const placed = reserved === 0 ? undefined : await parts.patience(placeUnsettled(parts, onSale))
  return asks.map((ask, i) => decide(ask, answers[i]!))

  function decide(ask: Ask, answer: AskAnswer): Decision {
    switch (answer.code) {
      case 'reserved':
        return toDecision(placed?.get(ask.order))
      case 'same': {
        // Twice in one batch: the twin's row may have been committed just now.
        const twin = placed?.get(answer.order)
        if (twin?.verdict === 'placed') return { kind: 'stands', order: answer.order }
        return onSale.unsettled.has(answer.order) ? BUSY : { kind: 'stands', order: answer.order }
      }
      case 'same_closed':
        return { kind: 'stands', order: answer.order }
      case 'not_enough':
        return left === 0 ? SOLD_OUT : { kind: 'not_enough', left }
      case 'attempts_used':
        return { kind: 'attempts_used' }
      case 'wait':
        return BUSY
      case 'foreign':
        parts.alarm('foreign_order_id', { order: ask.order, item: onSale.item.id })
        return BUSY
      case 'not_now':
        return status === 'over'
          ? OVER
          : status === 'paused'
            ? PAUSED
            : { kind: 'early', opensAtMs: onSale.sale.opensAtMs }
      default:
        return unreachable(answer.code)
    }
  }
}

/** Places everything that is unsettled, oldest first. Undefined: the ledger did not answer, all of it stays unsettled. */
export async function placeUnsettled(
  parts: DecideParts,
  onSale: OnSale,
): Promise<ReadonlyMap<OrderId, Placing> | undefined> {
  const asks = [...onSale.unsettled.values()]
  onSale.placing += 1
  try {
    const before = faultPoint('place.before')
    if (before) await before
    const askedAtMs = parts.clock.elapsed()
    const reply = await parts.orders.place(onSale.item.id, onSale.epoch, false, asks)
    parts.meters.time('ledger_place', parts.clock.elapsed() - askedAtMs)
    const after = faultPoint('place.after')
    if (after) await after
    if (reply.status === 'stale') {
      parts.onStale(onSale)
      return undefined
    }
    assert(
      reply.placings.length === asks.length,
      `the ledger gave ${reply.placings.length} answers to ${asks.length} reservations`,
    )
    return await settle(parts, onSale, asks, reply.placings)
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    parts.log.warn(
      { item: onSale.item.id, unsettled: asks.length, code: error.code, err: error },
      'the ledger did not answer; reservations stay held',
    )
    return undefined
  } finally {
    onSale.placing -= 1
  }
}

async function settle(
  parts: DecideParts,
  onSale: OnSale,
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
      parts.news.orderChanged(placing.order)
    }
    if (stands(placing)) continue
    // Gate and ledger disagree: the ledger is the truth, the pieces go back to the gate, and somebody should look.
    releases.push({ order: ask.order, buyer: ask.buyer, attempt: ask.attempt, outcome: 'refused' })
    parts.alarm(placing.verdict === 'foreign' ? 'foreign_order_id' : 'ledger_refused', {
      order: ask.order,
      item: onSale.item.id,
    })
  }
  if (releases.length > 0) {
    const done = await parts.gate.release(onSale.item.id, onSale.epoch, releases)
    if (done.status === 'stale') parts.onStale(onSale)
  }
  for (const ask of asks) onSale.unsettled.delete(ask.order)
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
      return placing.order.supersededBy === undefined ? SOLD_OUT : { kind: 'stands', order: placing.order.supersededBy }
    case 'foreign':
      return BUSY
    default:
      return unreachable(placing)
  }
}
