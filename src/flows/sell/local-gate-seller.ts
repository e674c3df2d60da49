/**
 * Sells through the gate in this process: reserve at the gate, place in the ledger, answer. There is no outbox: a buyer is answered only after
 * the ledger's COMMIT, and is never told "reserved".
 *
 * From the moment the gate has taken units they are `unsettled`, until the ledger has answered for these very ids. A COMMIT without an
 * answer, or a ledger that is away, settles nothing: buyers hear `busy` within `PLACE_WAIT_MS`, the units stay held, and `settle` places
 * the same ids again, which has no second effect. Until then nothing new is sold, so an absent ledger costs every other buyer one quick
 * answer. Nothing is released on a guess.
 */

import { assertAnswered } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { SharedTimeout } from '../../base/shared-timeout.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Ask, AskAnswer, Release } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { PlaceAsk, Placing } from '../../ledger/orders.ts'
import { type Decided, decisionOf, GateSeller } from './gate-seller.ts'
import type { SellContext } from './sell-context.ts'
import { ATTEMPTS_USED, BUSY, type Click, type Decision, type Held, SOLD_OUT } from './seller.ts'

export interface LocalGateContext extends SellContext {
  readonly view: LocalView & Required<Pick<LocalView, 'refusal'>>
  /** Bounds a wait by `PLACE_WAIT_MS`; the work itself goes on. */
  readonly timeout: SharedTimeout
}

/** How long a batch waits for the ledger before its buyers are told to ask again; the placing itself goes on. */
export const PLACE_WAIT_MS = 3_000

const OUTAGE_TEXTS = {
  event: 'placing_held',
  begins: 'the ledger did not answer; reservations stay held and are placed again',
  lasts: 'the ledger still does not answer; reservations stay held',
  ends: 'the ledger answers again; the held reservations are placed',
} as const

type Placings = ReadonlyMap<OrderId, Placing>

export class LocalGateSeller extends GateSeller<LocalGateContext> {
  readonly #ledgerOutage = new OutageLog(this.context, { item: this.live.item.id }, OUTAGE_TEXTS)

  /** Certain only while no ask waits and nothing is on its way into the ledger. */
  override refusal(click: Click): Refusal | undefined {
    const { item, epoch, queue, unsettled, current, skewed } = this.live
    if (!current || skewed || unsettled.size > 0 || queue.depth() > 0) return undefined
    const refused = this.context.view.refusal(item.id, epoch, click)
    if (refused !== 'not_enough') return refused && ATTEMPTS_USED
    const left = this.left()
    return left === undefined || left === 0 ? undefined : { kind: 'not_enough', left }
  }

  override async sell(asks: readonly Ask[]): Promise<readonly Decision[]> {
    const { live, context } = this
    if (!live.current || live.skewed || live.unsettled.size > 0) return asks.map(() => BUSY)
    const reply = await this.askGate(asks, taken => this.#hold(asks, taken))
    if (reply === undefined) return asks.map(() => BUSY)
    for (const { trace } of asks) trace?.step('ledger')
    const placed = live.unsettled.size === 0 ? undefined : await context.timeout(this.#placeUnsettled())
    return asks.map((ask, i) => this.#decide(ask, reply.answers[i]!, reply, placed))
  }

  #hold(asks: readonly Ask[], { answers }: Decided): void {
    for (let i = 0; i < asks.length; i++) {
      const answer = answers[i]!
      if (answer.code !== 'reserved') continue
      const { order, buyer, attempt, quantity } = asks[i]!
      this.live.unsettled.set(order, { order, buyer, attempt, quantity, reservedAtMs: answer.reservedAtMs })
    }
  }

  /** A book that is not current knows nothing of orders that another process has placed since: the ledger is asked. */
  override knows(buyer: BuyerId): boolean {
    return !this.live.current || super.knows(buyer)
  }

  override async find(buyer: BuyerId): Promise<readonly Held[] | 'unknown'> {
    return this.live.current ? super.find(buyer) : 'unknown'
  }

  override async outstanding(): Promise<boolean> {
    return this.live.unsettled.size > 0
  }

  /** Places again what the ledger has not answered for. */
  override async settle(): Promise<void> {
    const { current, unsettled, placing } = this.live
    if (current && unsettled.size > 0 && placing === 0) await this.#placeUnsettled()
  }

  #decide(ask: Ask, answer: AskAnswer, { status, left }: Decided, placed: Placings | undefined): Decision {
    if (answer.code === 'reserved') return toDecision(placed?.get(ask.order))
    // Twice in one batch: the other's row may have been committed just now.
    const settled = placed?.get(answer.order)?.verdict === 'placed'
    if (answer.code === 'same' && !settled && this.live.unsettled.has(answer.order)) return BUSY
    return decisionOf(this.context, this.live, answer.code, { status, left, order: answer.order })
  }

  /** All of it, oldest first. Undefined: the ledger did not answer, and all of it stays unsettled. */
  async #placeUnsettled(): Promise<Placings | undefined> {
    const { context, live } = this
    const { clock, meters } = context
    const asks = [...live.unsettled.values()]
    live.placing += 1
    try {
      const before = faultPoint('place.before')
      if (before) await before
      const askedAtMs = clock.elapsed()
      const reply = await context.orders.place(live.item.id, live.epoch, false, asks)
      meters.time('ledger_place', clock.elapsed() - askedAtMs)
      const after = faultPoint('place.after')
      if (after) await after
      if (reply.status === 'stale') {
        context.onStale(live)
        return undefined
      }
      assertAnswered('the ledger', asks, reply.placings)
      this.#ledgerOutage.worked()
      return await this.#settle(asks, reply.placings)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#ledgerOutage.failed(error, () => ({ unsettled: asks.length }))
      return undefined
    } finally {
      live.placing -= 1
    }
  }

  async #settle(asks: readonly PlaceAsk[], placings: readonly Placing[]): Promise<Placings> {
    const { context, live } = this
    const settled = new Map<OrderId, Placing>()
    const releases: Release[] = []
    for (let i = 0; i < asks.length; i++) {
      const { order, buyer, attempt } = asks[i]!
      const placing = placings[i]!
      settled.set(order, placing)
      if (placing.verdict === 'placed' || placing.verdict === 'refused') {
        context.meters.count('orders', placing.verdict)
        context.messages.orderChanged(placing.order)
      }
      if (isOrder(placing)) continue
      // Gate and ledger disagree: the ledger is the truth, the units go back to the gate, and the alarm asks for a person.
      releases.push({ order, buyer, attempt, outcome: 'refused' })
      const what = placing.verdict === 'id_conflict' ? 'foreign_order_id' : 'ledger_refused'
      context.alarm(what, { order, item: live.item.id })
    }
    if (releases.length > 0) {
      const done = await context.gate.release(live.item.id, live.epoch, releases)
      if (done.status === 'stale') context.onStale(live)
    }
    for (const ask of asks) live.unsettled.delete(ask.order)
    return settled
  }
}

/** The same again may be a refusal whose first answer was lost: a refusal it stays. */
function isOrder(placing: Placing): boolean {
  return placing.verdict === 'placed' || (placing.verdict === 'same' && placing.order.reason !== 'refused')
}

function toDecision(placing: Placing | undefined): Decision {
  if (placing === undefined || placing.verdict === 'id_conflict') return BUSY
  const { order } = placing
  // The id was made by this very click: committed by an earlier try of the same batch is committed by this click.
  if (isOrder(placing)) return { kind: 'placed', order }
  return order.supersededBy === undefined ? SOLD_OUT : { kind: 'existing', order: order.supersededBy }
}
