/**
 * A buyer is back from the provider's page and looks at the order: the provider is asked at once whether the payment is captured, declined or
 * void, instead of waiting for its callback. What it answers is recorded and published like any other reply.
 *
 * Bounded: one question an order at a time, one in `EVERY_MS`, `AT_ONCE_MAX` in all, one second each. At a bound nothing is asked: the
 * callback, or the keeper's own question, tells it later. Never fails.
 */

import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { OrderId } from '../../domain/ids.ts'
import { keyOf, recordReply, type SettleContext } from './settle-payments.ts'

const ASK_MS_MAX = 1_000
const EVERY_MS = 2_000
const AT_ONCE_MAX = 64
/** So many orders are remembered with the time they were asked about. */
const ASKED_MAX = 10_000

export class ProviderInquiries {
  readonly #context: SettleContext
  readonly #underWay = new Map<OrderId, Promise<void>>()
  readonly #askedAtMs = new Map<OrderId, number>()

  constructor(context: SettleContext) {
    this.#context = context
  }

  /** Resolves when the order's open payments are as their providers say, or when that is not to be known now. */
  ask(order: OrderId): Promise<void> {
    const underWay = this.#underWay.get(order)
    if (underWay !== undefined) return underWay
    const nowMs = this.#context.clock.elapsed()
    const tooSoon = nowMs - (this.#askedAtMs.get(order) ?? Number.NEGATIVE_INFINITY) < EVERY_MS
    if (tooSoon || this.#underWay.size >= AT_ONCE_MAX) return Promise.resolve()
    this.#askedAtMs.delete(order)
    this.#askedAtMs.set(order, nowMs)
    for (const oldest of this.#askedAtMs.keys()) if (this.#askedAtMs.size > ASKED_MAX) this.#askedAtMs.delete(oldest)
    const asking = this.#ask(order).finally(() => this.#underWay.delete(order))
    this.#underWay.set(order, asking)
    return asking
  }

  async #ask(order: OrderId): Promise<void> {
    const { payments, providers, clock, log } = this.#context
    try {
      const open = (await payments.ofOrders([order])).filter(({ state }) => state === 'started')
      for (const payment of open) {
        const provider = providers.get(payment.provider)
        if (provider === undefined) continue
        const reply = await withDeadline(clock, ASK_MS_MAX, signal => provider.query(keyOf(payment), signal))
        await recordReply(this.#context, payment, reply)
      }
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      log.debug({ order, code: error.code }, 'payment provider not asked for a buyer who is back')
    }
  }
}
