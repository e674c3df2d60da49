/**
 * Money has arrived, by callback or because we asked: it pays the order, or goes back. One function in the ledger decides; the same
 * capture twice is once. Wrong amounts are refused and alarmed: nobody guesses with money.
 */

import { faultPoint } from '../../base/fault-points.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Money } from '../../domain/money.ts'
import type { CaptureOutcome, Payments } from '../../ledger/payments.ts'

export interface CaptureParts {
  readonly payments: Payments
  readonly onPaid: (order: OrderId, item: ItemId) => void
  /** Late or second money: a refund row waits to be sent. */
  readonly onRefundDue: () => void
  readonly alarmPayment: (
    what: 'wrong_amount' | 'unknown_payment' | 'refund_impossible',
    fields: Readonly<Record<string, unknown>>,
  ) => void
}

export async function takeCapture(
  parts: CaptureParts,
  provider: string,
  capture: { readonly ref: string; readonly amount: Money; readonly atMs: number },
): Promise<CaptureOutcome> {
  await faultPoint('pay.before')
  const { outcome, order, item } = await parts.payments.capture(provider, capture.ref, capture.amount, capture.atMs)
  await faultPoint('pay.after')
  switch (outcome) {
    case 'paid':
      if (order !== undefined && item !== undefined) parts.onPaid(order, item)
      break
    case 'late':
    case 'second':
      parts.onRefundDue()
      break
    case 'wrong_amount':
      parts.alarmPayment('wrong_amount', { provider, ref: capture.ref, amount: capture.amount })
      break
    case 'unknown':
      parts.alarmPayment('unknown_payment', { provider, ref: capture.ref })
      break
    case 'same':
      break
  }
  return outcome
}
