/**
 * A shop that takes the money itself reports: captures, under references of its own, and refunds. Its buyer may have started the payment here,
 * or paid in the shop's app without our knowing. One function in the ledger decides, under the order's lock, and the same report counts
 * once, however often it comes.
 *
 * Money that pays nothing (late, or the second for an order) goes back: the ledger writes the event that asks the shop for it. A wrong amount
 * is refused and alarmed, and nothing is written: the shop hears it at once, and more often the report is wrong than the money.
 */

import { faultPoint } from '../../base/fault-points.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Money } from '../../domain/money.ts'
import type { Order } from '../../domain/order.ts'
import type { ConfirmedRefund, ReportedCapture, ReportedRefund } from '../../ledger/reported-payments.ts'
import type { MoneyPorts } from './money-context.ts'
import { announce } from './settle-payments.ts'

type ReportContext = Pick<
  MoneyPorts,
  'orders' | 'payments' | 'reports' | 'ids' | 'onPaid' | 'onPaymentChanged' | 'onRefundDue' | 'onRefundSent' | 'alarm'
> & {
  /** May this order be reserved, and on its way to the ledger? */
  readonly mayBeReserved: (order: OrderId) => Promise<boolean>
}

type ReportCaptureOutcome =
  /** Paid by this money, now or before. */
  | { readonly kind: 'paid'; readonly order: Order }
  | { readonly kind: 'wrong_amount'; readonly order: Order }
  /** refundDue: its money still has to go back. late: the order was closed. second: another payment was first. */
  | { readonly kind: 'late' | 'second'; readonly refundDue: boolean }
  | { readonly kind: 'reference_used' | 'payments_used' | 'not_placed' | 'missing' }

export async function reportCapture(
  context: ReportContext,
  report: Omit<ReportedCapture, 'id'>,
): Promise<ReportCaptureOutcome> {
  const { provider, order, reference: ref, amount } = report
  const capture = () => context.reports.capture({ ...report, id: context.ids.next() })
  await faultPoint('pay.before')
  let decided = await capture()
  if (decided.outcome === 'unknown') {
    if (await context.mayBeReserved(order)) return { kind: 'not_placed' }
    // It may have been placed since it was first looked for.
    decided = await capture()
  }
  await faultPoint('pay.after')
  const { outcome, item, again, refundDue } = decided
  if (outcome === 'reference_used' || outcome === 'payments_used') return { kind: outcome }
  announce(context, again ? 'same' : outcome, { provider, ref, amount, order, item })
  const isRecorded = outcome !== 'unknown' && outcome !== 'wrong_amount'
  if (isRecorded) await context.payments.recordCallback(provider, `capture:${ref}`, ref, outcome)
  if (outcome === 'late' || outcome === 'second') return { kind: outcome, refundDue }
  const [found] = await context.orders.find([order])
  if (outcome === 'unknown' || found === undefined) return { kind: 'missing' }
  return { kind: outcome === 'wrong_amount' ? outcome : 'paid', order: found }
}

type ReportRefundOutcome =
  /** Now or before. */
  | { readonly kind: 'refunded'; readonly amount: Money }
  | { readonly kind: 'missing' | Exclude<ConfirmedRefund['outcome'], 'refunded' | 'same' | 'unknown'> }

export async function reportRefund(
  context: Pick<ReportContext, 'payments' | 'reports' | 'onRefundSent' | 'onPaymentChanged'>,
  report: ReportedRefund,
): Promise<ReportRefundOutcome> {
  const { provider, reference, refundReference } = report
  const { outcome, amount } = await context.reports.confirmRefund(report)
  if (outcome === 'unknown' || amount === undefined) return { kind: 'missing' }
  await context.payments.recordCallback(provider, `refund:${refundReference}`, reference, outcome)
  if (outcome === 'refunded') {
    context.onRefundSent()
    context.onPaymentChanged(report.order)
  }
  return outcome === 'same' || outcome === 'refunded' ? { kind: 'refunded', amount } : { kind: outcome }
}
