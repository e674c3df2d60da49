/**
 * One batch of asks for one item at a gate outside the process. The gate writes the outbox entry in the same act, so nobody waits here for
 * the ledger: the line is free for its next batch as soon as the gate has answered.
 *
 * E2: the fence is looked at before the gate is asked, and again when its reply is here, before anything is acknowledged. Too late means
 * busy for everybody: the units stay held, the entry will be placed, and asking again finds it.
 * E6: what is acknowledged is remembered in the same turn. Where there is no room to remember, the gate is not asked.
 * A reply that is `unknown` or never comes is busy too; nothing is released on a guess (E11).
 */

import { assert, unreachable } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Ask, AskAnswer, Gate, ReserveReply } from '../../gate/gate.ts'
import type { GateCache } from '../../gate/gate-cache.ts'
import { type AcknowledgedReservations, LOOK_FOR_IT_AFTER_MS } from '../follow/acknowledged-reservations.ts'
import {
  BUSY,
  type Decision,
  type Followed,
  mayAcknowledge,
  OVER,
  PAUSED,
  SOLD_OUT,
  toReservation,
} from './live-item.ts'
import type { PlacementWaiters } from './placement-waiters.ts'

interface ReserveParts {
  readonly gate: Pick<Gate, 'reserve'>
  readonly far: Pick<GateCache, 'reserved'>
  readonly acknowledged: AcknowledgedReservations
  readonly waiters: Pick<PlacementWaiters, 'expect' | 'forget'>
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  readonly fenceMs: number
  /** The gate is not the one it was, or somebody else has the item: what was acknowledged must be handed over. Must not throw. */
  readonly onStale: (liveItem: Followed) => void
  readonly alarm: (what: 'foreign_order_id', fields: Readonly<Record<string, unknown>>) => void
}

type Decided = Extract<ReserveReply, { readonly answers: unknown }>

export async function reserveBatch(
  parts: ReserveParts,
  liveItem: Followed,
  asks: readonly Ask[],
): Promise<readonly Decision[]> {
  const { acknowledged, waiters } = parts
  const busy = () => asks.map(() => BUSY)
  if (!mayAcknowledge(liveItem, parts.clock.elapsed(), parts.fenceMs) || !acknowledged.book(asks.length)) return busy()
  liveItem.atGate += 1
  for (const { order } of asks) waiters.expect(order)
  let decisions: readonly Decision[] = busy()
  try {
    const reply = await ask(parts, liveItem, asks)
    if (reply !== undefined && mayAcknowledge(liveItem, parts.clock.elapsed(), parts.fenceMs))
      decisions = decide(parts, liveItem, asks, reply)
    return decisions
  } finally {
    for (let i = 0; i < asks.length; i++) if (decisions[i]!.kind !== 'reserved') waiters.forget(asks[i]!.order)
    acknowledged.unbook(asks.length)
    liveItem.atGate -= 1
  }
}

/** Undefined: nobody may be told anything. */
async function ask(parts: ReserveParts, liveItem: Followed, asks: readonly Ask[]): Promise<Decided | undefined> {
  const item = liveItem.item.id
  try {
    const before = faultPoint('reserve.before')
    if (before) await before
    const askedAtMs = parts.clock.elapsed()
    const reply = await parts.gate.reserve(item, liveItem.epoch, asks)
    parts.meters.time('gate_reserve', parts.clock.elapsed() - askedAtMs)
    parts.meters.size('order_batch', asks.length)
    const after = faultPoint('reserve.after')
    if (after) await after
    switch (reply.status) {
      case 'stale':
        parts.meters.count('gate_stale', 'reply')
        parts.onStale(liveItem)
        return undefined
      case 'busy':
      case 'unknown':
        return undefined
      case 'ok':
      case 'early':
      case 'over':
      case 'paused':
        assert(
          reply.answers.length === asks.length,
          `the gate gave ${reply.answers.length} answers to ${asks.length} asks`,
        )
        assert(reply.epoch === liveItem.epoch, `asked under epoch ${liveItem.epoch}, answered under ${reply.epoch}`)
        return reply
      default:
        return unreachable(reply)
    }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    parts.log.warn({ item, asks: asks.length, code: error.code, err: error }, 'the gate did not answer')
    return undefined
  }
}

/** In one turn: nothing else of this process happens between the fence, the remembering and the decision. */
function decide(parts: ReserveParts, liveItem: Followed, asks: readonly Ask[], reply: Decided): readonly Decision[] {
  const buyers: BuyerId[] = []
  const lookAtMs = parts.clock.elapsed() + LOOK_FOR_IT_AFTER_MS
  const decisions = asks.map((ask, i) => one(ask, reply.answers[i]!))
  parts.far.reserved(liveItem.item.id, reply, buyers)
  return decisions

  function one(ask: Ask, answer: AskAnswer): Decision {
    switch (answer.code) {
      case 'reserved': {
        assert(answer.order === ask.order, `asked under order ${ask.order}, reserved under ${answer.order}`)
        const { quantity, reservedAtMs } = answer
        const reservation = toReservation(liveItem.sale, liveItem.item, { ...ask, quantity, reservedAtMs })
        parts.acknowledged.remember(liveItem.epoch, reservation, lookAtMs)
        buyers.push(ask.buyer)
        return { kind: 'reserved', reservation }
      }
      // Whether it is placed already, and what it looks like, the ledger and the gate say: whoever asked finds out.
      case 'same':
      case 'same_closed':
        return { kind: 'existing', order: answer.order }
      case 'not_enough':
        return reply.left === 0 ? SOLD_OUT : { kind: 'not_enough', left: reply.left }
      case 'attempts_used':
        return { kind: 'attempts_used' }
      case 'wait':
        return BUSY
      case 'id_conflict':
        parts.alarm('foreign_order_id', { order: ask.order, item: liveItem.item.id })
        return BUSY
      case 'not_now':
        return notNow(reply.status, liveItem)
      default:
        return unreachable(answer.code)
    }
  }
}

/** The window or the operator forbids a new order: which of them, in the gate's or the ledger's own word. */
export function notNow(status: Decided['status'], liveItem: Followed): Refusal {
  if (status === 'over') return OVER
  return status === 'paused' ? PAUSED : { kind: 'early', opensAtMs: liveItem.sale.opensAtMs }
}
