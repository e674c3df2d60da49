/**
 * A buyer is back from the provider's page and looks at the order, or pays once more: the provider is asked at once whether the payment is
 * captured, declined or void, instead of waiting for its callback. What it answers is recorded and published like any other reply.
 *
 * Bounded: one question an order at a time, one in `EVERY_MS`, `AT_ONCE_MAX` in all, one second each, and `PER_SECOND_MAX` at each provider,
 * however many buyers ask how often. At a bound nothing is asked: the callback, or the keeper's own question, tells it later. A provider
 * that does not answer keeps no other from being asked. Never fails.
 */

import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Payment } from '../../domain/payment.ts'
import { keyOf, recordReply, type SettleContext } from './settle-payments.ts'

const ASK_MS_MAX = 1_000
const EVERY_MS = 2_000
const AT_ONCE_MAX = 128
/** Of this process. Two silent providers leave room for a third. */
const PER_SECOND_MAX = 30
/** So many orders are remembered with the time they were asked about. */
const ASKED_MAX = 10_000

export class ProviderInquiries {
  readonly #context: SettleContext
  readonly #underWay = new Map<OrderId, Promise<void>>()
  readonly #askedAtMs = new Map<OrderId, number>()
  /** By provider: the second that is counted, and how many. */
  readonly #counts = new Map<string, { readonly sinceMs: number; count: number }>()

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
    const { payments, log } = this.#context
    const logged = async (asked: Promise<unknown>) => {
      try {
        await asked
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        log.debug(
          { event: 'provider_not_asked', order, code: error.code },
          'payment provider not asked for a buyer who is back',
        )
      }
    }
    const askAll = async () => {
      const open = (await payments.ofOrders([order])).filter(({ state }) => state === 'started')
      await Promise.all(open.map(payment => logged(this.#askOne(payment))))
    }
    await logged(askAll())
  }

  async #askOne(payment: Payment): Promise<void> {
    const { providers, clock } = this.#context
    const provider = providers.get(payment.provider)
    // A shop that reports its payments has nothing to say before.
    if (provider === undefined || provider.reports || !this.#hasRoom(payment.provider)) return
    const reply = await withDeadline(clock, ASK_MS_MAX, signal => provider.query(keyOf(payment), signal))
    await recordReply(this.#context, payment, reply)
  }

  #hasRoom(provider: string): boolean {
    const nowMs = this.#context.clock.elapsed()
    const counted = this.#counts.get(provider)
    const current = counted !== undefined && nowMs - counted.sinceMs < 1_000 ? counted : { sinceMs: nowMs, count: 0 }
    this.#counts.set(provider, current)
    current.count += 1
    return current.count <= PER_SECOND_MAX
  }
}
