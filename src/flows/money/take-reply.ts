/** What a provider answers when it is asked about an open payment, carried into the ledger. Twice is once. */

import { unreachable } from '../../base/assert.ts'
import type { Payment } from '../../domain/payment.ts'
import type { ProviderReply } from '../../payment/payment.ts'
import { type CaptureParts, takeCapture } from './take-capture.ts'

/**
 * paid   its money pays the order, now or before     over   nobody can pay by it any more; its row is no longer open
 * open   it can still be paid
 */
export async function takeReply(
  parts: CaptureParts,
  payment: Payment,
  reply: ProviderReply,
): Promise<'paid' | 'open' | 'over'> {
  switch (reply.state) {
    case 'captured': {
      const { amount, capturedAtMs: atMs } = reply
      const outcome = await takeCapture(parts, payment.provider, { ref: payment.ref, amount, atMs })
      // The provider itself says so, not just a callback: money that does not fit goes back, all of it.
      if (
        outcome === 'wrong_amount' &&
        (await parts.payments.move(payment.id, 'started', 'refund_due', 'wrong_amount'))
      )
        parts.onRefundDue()
      return outcome === 'paid' || outcome === 'same' ? 'paid' : 'over'
    }
    case 'void':
    case 'refunded':
      await parts.payments.move(payment.id, 'started', 'void')
      return 'over'
    case 'open':
    case 'unknown':
      return 'open'
    default:
      return unreachable(reply)
  }
}
