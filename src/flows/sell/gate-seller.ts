/**
 * What the two sellers behind the gate's door have in common: what is known of the gate without asking it, and one batch at the gate; and the
 * gate's answers as decisions, in the one table that every seller reads.
 */

import { assert, assertAnswered, unreachable } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Refusal } from '../../domain/outcomes.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Ask, AskCode, ReserveReply } from '../../gate/gate.ts'
import { ClosedSeller } from './closed-seller.ts'
import type { LiveItem } from './live-item.ts'
import type { SellContext } from './sell-context.ts'
import { ATTEMPTS_USED, BUSY, type Decision, OVER, PAUSED, SOLD_OUT, standingClosed } from './seller.ts'

/** A reply that answers every ask. */
export type Decided = Extract<ReserveReply, { readonly answers: unknown }>

const OUTAGE_TEXTS = {
  event: 'gate_silent',
  begins: 'the gate did not answer a batch',
  lasts: 'the gate still does not answer batches',
  ends: 'the gate answers batches again',
} as const

export abstract class GateSeller<Context extends SellContext> extends ClosedSeller<Context, LiveItem> {
  readonly #gateOutage = new OutageLog(this.context, { item: this.live.item.id }, OUTAGE_TEXTS)

  override standing(): Refusal | undefined {
    const { view } = this.context
    const { live } = this
    if (live.skewed) return BUSY
    const status = view.statusNow(live.item.id)
    const nowMs = view.nowMs()
    if (status === undefined || !live.current) {
      const closed = standingClosed(live.sale, nowMs)
      // No status was asked for while nothing happened here: the gate decides.
      return closed === BUSY && live.current && view.isCold?.(live.item.id) ? undefined : closed
    }
    if (status.state === 'over' || nowMs >= status.closesAtMs) return OVER
    if (nowMs < status.opensAtMs) return { kind: 'early', opensAtMs: status.opensAtMs }
    if (status.state === 'paused') return PAUSED
    return status.left === 0 ? SOLD_OUT : undefined
  }

  /**
   * Undefined: nothing may be told to any of them. A reply that is `unknown` or never comes releases nothing (E11).
   * @param onTaken called in the turn in which the reply arrives, before anything else can fail: units may be taken from here on
   */
  protected async askGate(asks: readonly Ask[], onTaken?: (reply: Decided) => void): Promise<Decided | undefined> {
    const { context, live } = this
    const { clock, meters } = context
    const item = live.item.id
    try {
      const before = faultPoint('reserve.before')
      if (before) await before
      for (const { trace } of asks) trace?.step('gate')
      const askedAtMs = clock.elapsed()
      const reply = await context.gate.reserve(item, live.epoch, asks)
      meters.time('gate_reserve', clock.elapsed() - askedAtMs)
      meters.size('order_batch', asks.length)
      if ('answers' in reply) onTaken?.(reply)
      const after = faultPoint('reserve.after')
      if (after) await after
      switch (reply.status) {
        case 'stale':
          meters.count('gate_stale', 'reply')
          context.onStale(live)
          return undefined
        case 'busy':
        case 'unknown':
          return undefined
        case 'ok':
        case 'early':
        case 'over':
        case 'paused':
          assertAnswered('the gate', asks, reply.answers)
          assert(reply.epoch === live.epoch, `asked under epoch ${live.epoch}, answered under ${reply.epoch}`)
          this.#gateOutage.worked()
          return reply
        default:
          return unreachable(reply)
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#gateOutage.failed(error, () => ({ asks: asks.length }))
      return undefined
    }
  }
}

/** An answer that takes nothing. `order` is the one it names, `left` what is left of the item. */
export function decisionOf(
  context: Pick<SellContext, 'alarm'>,
  live: LiveItem,
  code: Exclude<AskCode, 'reserved'>,
  { status, left, order }: { readonly status: Decided['status']; readonly left: number; readonly order: OrderId },
): Decision {
  switch (code) {
    case 'same':
    case 'same_closed':
      return { kind: 'existing', order }
    case 'not_enough':
      return left === 0 ? SOLD_OUT : { kind: 'not_enough', left }
    case 'attempts_used':
      return ATTEMPTS_USED
    case 'wait':
      return BUSY
    case 'id_conflict':
      context.alarm('foreign_order_id', { order, item: live.item.id })
      return BUSY
    case 'not_now':
      return notNow(status, live.sale)
    default:
      return unreachable(code)
  }
}

/** The window or the operator forbids a new order. */
function notNow(status: Decided['status'], sale: Sale): Refusal {
  if (status === 'ok') return BUSY
  if (status === 'over') return OVER
  return status === 'paused' ? PAUSED : { kind: 'early', opensAtMs: sale.opensAtMs }
}
