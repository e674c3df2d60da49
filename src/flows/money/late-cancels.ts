/**
 * Payments that were cancelled at a provider which can't promise it: it hears of a payment when the buyer opens its page, and that may be
 * after the cancel. Until the page's time is over such a payment is cancelled again, a minute apart at the most, so that money whose callback was lost is
 * found and goes back. Only providers that say so (`cancelsLate`) are asked.
 */

import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { Payment } from '../../domain/payment.ts'
import { ProviderLanes } from './provider-lanes.ts'
import { keyOf, recordReply, type SettleContext } from './settle-payments.ts'

const ASK_MS_MAX = 1_000

type Looked = Payment & { readonly isLast: boolean }

export class LateCancels {
  readonly #lanes: ProviderLanes<string, Looked> | undefined

  constructor(context: SettleContext) {
    const late = [...context.providers.values()].filter(({ cancelsLate }) => cancelsLate).map(({ name }) => name)
    if (late.length === 0) return
    this.#lanes = new ProviderLanes({
      clock: context.clock,
      lanes: late,
      take: (rooms, without) => context.payments.lookAgain(rooms, without),
      laneOf: ({ provider }) => provider,
      ask: payment => cancelAgain(context, payment),
    })
  }

  /** True when more may be waiting. */
  round(): Promise<boolean> {
    return this.#lanes?.round() ?? Promise.resolve(false)
  }
}

async function cancelAgain(context: SettleContext, payment: Looked): Promise<void> {
  const { payments, providers, clock, log } = context
  const provider = providers.get(payment.provider)
  if (provider === undefined) return
  try {
    await withDeadline(clock, ASK_MS_MAX, async signal => {
      const { state, untilMs } = await provider.cancel(keyOf(payment), signal)
      if (state === 'void') {
        // A page that was opened is closed for good; one that was not can't be opened any more after its time.
        if (untilMs === undefined || payment.isLast) await payments.stopLooking(payment.id)
        return
      }
      await recordReply(context, payment, await provider.query(keyOf(payment), signal))
      await payments.stopLooking(payment.id)
    })
  } catch (error) {
    if (!(error instanceof Fault) || error.code.startsWith('ledger')) throw error
    log.warn(
      { event: 'cancel_not_checked', provider: payment.provider, payment: payment.id, code: error.code },
      'cancelled payment not looked at, it will be repeated',
    )
  }
}
