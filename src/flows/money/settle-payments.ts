/**
 * Payments that nobody told us about, and money that must go back.
 *
 * Lost callbacks are found by asking: every open payment is asked about now and then, sooner when its order is due. Refunds are rows;
 * they are sent, by a key that makes a second sending harmless, until the provider has them. A row is only moved when the provider has
 * answered; dying in between repeats the question.
 */

import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Payment } from '../../domain/payment.ts'
import type { Payments } from '../../ledger/payments.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import type { CaptureParts } from './take-capture.ts'
import { takeReply } from './take-reply.ts'

/** Asks the providers of an order's open payments, once and briefly. True: the order is paid. */
export type AskProvider = (order: OrderId) => Promise<boolean>

export interface SettleParts extends CaptureParts {
  readonly payments: Payments
  readonly providers: ReadonlyMap<string, PaymentProvider>
  readonly clock: Clock
  readonly log: Log
  readonly onRefunded: () => void
}

const ASK_MS_MAX = 1_000
const REFUND_MS_MAX = 5_000
const CLAIM_MAX = 50

export function createAskProvider(parts: SettleParts): AskProvider {
  return async order => {
    const open = (await parts.payments.ofOrders([order])).filter(payment => payment.state === 'started')
    for (const payment of open) if ((await askAbout(parts, payment, true)) === 'paid') return true
    return false
  }
}

/** One round: open payments asked about, refunds sent. True when more may be waiting. */
export async function settlePayments(parts: SettleParts): Promise<boolean> {
  const claimed = await parts.payments.claim(CLAIM_MAX)
  await Promise.all(
    claimed.map(payment =>
      payment.state === 'refund_due' ? sendRefund(parts, payment) : askAbout(parts, payment, !payment.wanted),
    ),
  )
  return claimed.length === CLAIM_MAX
}

/** `closing`: the order is about to be closed, or was while the provider gave no answer, so the payment is called off unless its money is there. One try, one second in all. */
async function askAbout(parts: SettleParts, payment: Payment, closing: boolean): Promise<'paid' | 'open'> {
  const provider = parts.providers.get(payment.provider)
  if (provider === undefined) return 'open'
  try {
    return await withDeadline(parts.clock, ASK_MS_MAX, async signal => {
      if (closing && (await provider.cancel(payment.ref, signal)).state === 'void') {
        await parts.payments.move(payment.id, 'started', 'void')
        return 'open'
      }
      const state = await takeReply(parts, payment, await provider.query(payment.ref, signal))
      return state === 'paid' ? 'paid' : 'open'
    })
  } catch (error) {
    tell(parts, payment, error)
    return 'open'
  }
}

async function sendRefund(parts: SettleParts, payment: Payment): Promise<void> {
  const provider = parts.providers.get(payment.provider)
  const { ref, id } = payment
  if (provider === undefined) {
    parts.alarmPayment('refund_impossible', {
      provider: payment.provider,
      payment: id,
      why: 'the provider is not configured',
    })
    return
  }
  try {
    await faultPoint('refund.before')
    const { state } = await withDeadline(parts.clock, REFUND_MS_MAX, signal => provider.refund(ref, id, signal))
    await faultPoint('refund.sent')
    if (state === 'not_captured') {
      parts.alarmPayment('refund_impossible', {
        provider: payment.provider,
        payment: id,
        why: 'the provider has no such money',
      })
    }
    if (state === 'refunded' && (await parts.payments.move(id, 'refund_due', 'refunded'))) parts.onRefunded()
  } catch (error) {
    tell(parts, payment, error)
  }
}

/** A provider that failed is tried again later; a ledger that failed ends the round; a bug ends more. */
function tell(parts: SettleParts, payment: Payment, error: unknown): void {
  if (!(error instanceof Fault) || error.code.startsWith('ledger')) throw error
  const { provider, id, tries, state } = payment
  parts.log.warn(
    { provider, payment: id, state, tries, code: error.code },
    'the payment provider did not do what it was asked; it is asked again',
  )
}
