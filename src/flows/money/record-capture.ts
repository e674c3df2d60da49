/**
 * A provider says that money has arrived, in a callback or in reply to a query: it pays the order, or becomes a refund. One function in
 * the ledger decides, and the same capture twice counts once. A wrong amount is refused and alarmed, never rounded or accepted in part.
 */

import { unreachable } from '../../base/assert.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Money } from '../../domain/money.ts'
import type { Payment } from '../../domain/payment.ts'
import type { CaptureOutcome } from '../../ledger/payments.ts'
import type { ProviderReply } from '../../payment/payment.ts'
import type { MoneyPorts } from './money-context.ts'

type CaptureContext = Pick<MoneyPorts, 'payments' | 'onPaid' | 'onRefundDue' | 'alarm'>

export async function recordCapture(
  context: CaptureContext,
  provider: string,
  capture: { readonly ref: string; readonly amount: Money; readonly atMs: number },
): Promise<CaptureOutcome> {
  const { ref, amount, atMs } = capture
  await faultPoint('pay.before')
  const { outcome, order, item } = await context.payments.capture(provider, ref, amount, atMs)
  await faultPoint('pay.after')
  switch (outcome) {
    case 'paid':
      if (order !== undefined && item !== undefined) context.onPaid(order, item)
      break
    case 'late':
    case 'second':
      context.onRefundDue()
      break
    case 'wrong_amount':
      context.alarm('wrong_amount', { provider, ref, amount })
      break
    case 'unknown':
      context.alarm('unknown_payment', { provider, ref })
      break
    case 'same':
      break
  }
  return outcome
}

/**
 * Records a provider's reply about an open payment. Twice counts once.
 * paid: its money pays the order, now or before. open: it can still be paid. over: it can't be paid any more, and its row is closed.
 */
export async function recordReply(
  context: CaptureContext,
  payment: Payment,
  reply: ProviderReply,
): Promise<'paid' | 'open' | 'over'> {
  switch (reply.state) {
    case 'captured': {
      const { amount, capturedAtMs: atMs } = reply
      const outcome = await recordCapture(context, payment.provider, { ref: payment.ref, amount, atMs })
      // A query confirms the wrong amount, so it is no forged or broken callback: all of it is refunded.
      if (outcome === 'wrong_amount') {
        const moved = await context.payments.move(payment.id, 'started', 'refund_due', 'wrong_amount')
        if (moved) context.onRefundDue()
      }
      return outcome === 'paid' || outcome === 'same' ? 'paid' : 'over'
    }
    case 'void':
    case 'refunded':
      await context.payments.move(payment.id, 'started', 'void')
      return 'over'
    case 'open':
    case 'unknown':
      return 'open'
    default:
      return unreachable(reply)
  }
}
