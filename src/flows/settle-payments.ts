/**
 * Payments that nobody told us about, and money that must go back.
 *
 * Lost callbacks are found by asking: every open payment is asked about now and then, sooner when its order is due. Refunds are rows;
 * they are sent, by a key that makes a second sending harmless, until the provider has them. A row is only moved when the provider has
 * answered; dying in between repeats the question.
 */

import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { faultPoint } from '../base/fault-points.ts'
import type { Log } from '../base/log.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Payment } from '../domain/payment.ts'
import type { Payments } from '../ledger/payments.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import { type CaptureParts, takeCapture } from './take-capture.ts'

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
      payment.state === 'refund_due' ? sendRefund(parts, payment) : askAbout(parts, payment, false),
    ),
  )
  return claimed.length === CLAIM_MAX
}

/** `closing`: the order is about to be closed, so a payment that is still open is called off. */
async function askAbout(parts: SettleParts, payment: Payment, closing: boolean): Promise<'paid' | 'open'> {
  const provider = parts.providers.get(payment.provider)
  if (provider === undefined) return 'open'
  try {
    const answer = await provider.query(payment.ref, AbortSignal.timeout(ASK_MS_MAX))
    switch (answer.state) {
      case 'captured': {
        const outcome = await takeCapture(parts, payment.provider, {
          ref: payment.ref,
          amount: answer.amount ?? payment.amount,
          atMs: answer.capturedAtMs ?? parts.clock.now(),
        })
        return outcome === 'paid' || outcome === 'same' ? 'paid' : 'open'
      }
      case 'void':
      case 'refunded':
        await parts.payments.move(payment.id, 'started', 'void')
        return 'open'
      case 'open':
      case 'unknown':
        if (closing) await callOff(parts, provider, payment)
        return 'open'
    }
  } catch (error) {
    if (!(error instanceof Fault) || error.code.startsWith('ledger')) throw error
    parts.log.warn(
      { provider: payment.provider, code: error.code, payment: payment.id },
      'the payment provider did not answer',
    )
    return 'open'
  }
}

/** Best effort: if money arrives all the same, it goes back. */
async function callOff(parts: SettleParts, provider: PaymentProvider, payment: Payment): Promise<void> {
  const { state } = await provider.cancel(payment.ref, AbortSignal.timeout(ASK_MS_MAX))
  if (state === 'void') await parts.payments.move(payment.id, 'started', 'void')
}

async function sendRefund(parts: SettleParts, payment: Payment): Promise<void> {
  const provider = parts.providers.get(payment.provider)
  if (provider === undefined) {
    parts.log.error(
      { provider: payment.provider, payment: payment.id },
      'a refund is due with a provider that is not configured',
    )
    return
  }
  try {
    await faultPoint('refund.before')
    const { state } = await provider.refund(payment.ref, payment.id, AbortSignal.timeout(REFUND_MS_MAX))
    await faultPoint('refund.sent')
    if (state === 'refunded' && (await parts.payments.move(payment.id, 'refund_due', 'refunded'))) parts.onRefunded()
  } catch (error) {
    if (!(error instanceof Fault) || error.code.startsWith('ledger')) throw error
    parts.log.warn(
      { provider: payment.provider, code: error.code, payment: payment.id, tries: payment.tries },
      'the refund was not taken; it is tried again',
    )
  }
}
