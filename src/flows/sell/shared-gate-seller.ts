/**
 * Sells through a gate that processes share. The gate writes the outbox entry in the act that takes the units, so the queue is free for
 * its next batch as soon as the gate has answered; a worker places the entry.
 *
 * E2: the fence is checked before the gate is asked, and again when its reply is here, before anything is acknowledged. Too late means busy
 * for the whole batch: the units stay held, the entry will be placed, and asking again finds it.
 * E6: what is acknowledged is remembered in the same turn. Where there is no room to remember, the gate is not asked.
 */

import { assert } from '../../base/assert.ts'
import type { BuyerId } from '../../domain/ids.ts'
import type { Reservation } from '../../domain/order.ts'
import type { Ask } from '../../gate/gate.ts'
import type { GateCache } from '../../gate/local-view.ts'
import { READ_AFTER_MS } from '../follow/acknowledged-reservations.ts'
import { type Decided, decisionOf, GateSeller } from './gate-seller.ts'
import type { SellContext } from './sell-context.ts'
import { BUSY, type Decision, toReservation } from './seller.ts'

export interface SharedGateContext extends SellContext {
  readonly cache: Pick<GateCache, 'reserved'>
}

export class SharedGateSeller extends GateSeller<SharedGateContext> {
  override async sell(asks: readonly Ask[]): Promise<readonly Decision[]> {
    const { context, live } = this
    const { acknowledged, waiters } = context
    const busy = asks.map(() => BUSY)
    if (!this.#withinFence() || !acknowledged.book(asks.length)) return busy
    live.atGate += 1
    for (const { order } of asks) waiters.expect(order)
    let decisions: readonly Decision[] = busy
    try {
      const reply = await this.askGate(asks)
      if (reply !== undefined && this.#withinFence()) decisions = this.#decide(asks, reply)
      return decisions
    } finally {
      for (let i = 0; i < asks.length; i++) if (decisions[i]!.kind !== 'reserved') waiters.forget(asks[i]!.order)
      acknowledged.unbook(asks.length)
      live.atGate -= 1
    }
  }

  /**
   * Within the fence the gate that holds it can't be under another epoch than this entry's: the next is activated only after every fence
   * has lapsed (E3). What is remembered under another epoch is with the ledger, which may refuse it. Decides and remembers in one turn.
   */
  override acknowledge(reservation: Reservation): boolean {
    const { acknowledged, clock } = this.context
    if (!this.#withinFence()) return false
    const known = acknowledged.find(reservation.id)
    if (known !== undefined) return known.epoch === this.live.epoch
    if (!acknowledged.book(1)) return false
    acknowledged.remember(this.live.epoch, reservation, clock.elapsed() + READ_AFTER_MS)
    acknowledged.unbook(1)
    return true
  }

  /** While the sale runs the gate may reserve at any moment. When it is over, the outbox and the other processes tell. */
  override async outstanding(): Promise<boolean> {
    return this.standing()?.kind !== 'over' || this.context.unplaced.maybe(this.live.item.id)
  }

  /** E2: the ledger's primary has shown this epoch within `fenceMs`, and no reply has said otherwise since. */
  #withinFence(): boolean {
    const { current, skewed, seenAtMs } = this.live
    return current && !skewed && this.context.clock.elapsed() - seenAtMs < this.context.fenceMs
  }

  /** In one turn: nothing else of this process happens between the fence, the remembering and the decision. */
  #decide(asks: readonly Ask[], reply: Decided): readonly Decision[] {
    const { context, live } = this
    const { status, left } = reply
    const buyers: BuyerId[] = []
    const readAtMs = context.clock.elapsed() + READ_AFTER_MS
    const decisions = asks.map((ask, i): Decision => {
      const answer = reply.answers[i]!
      // Whether an existing one is placed already, the ledger and the gate tell: the caller asks them.
      if (answer.code !== 'reserved')
        return decisionOf(context, live, answer.code, { status, left, order: answer.order })
      assert(answer.order === ask.order, `asked under order ${ask.order}, reserved under ${answer.order}`)
      const { quantity, reservedAtMs } = answer
      const reservation = toReservation(live.sale, live.item, { ...ask, quantity, reservedAtMs })
      context.acknowledged.remember(live.epoch, reservation, readAtMs)
      buyers.push(ask.buyer)
      return { kind: 'reserved', reservation }
    })
    context.cache.reserved(live.item.id, reply, buyers)
    return decisions
  }
}
