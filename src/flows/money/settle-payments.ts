/**
 * Payments without a callback, and refunds that are due.
 *
 * Lost callbacks are found by active queries: each open payment is queried now and then, sooner when its order is due. Refunds are rows,
 * sent with an idempotency key until the provider confirms. A row moves only after the provider has answered; a crash in between repeats
 * the question.
 */

import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Payment } from '../../domain/payment.ts'
import type { MoneyPorts } from './money-context.ts'
import { recordReply } from './record-capture.ts'

type SettleContext = Pick<
  MoneyPorts,
  'payments' | 'providers' | 'clock' | 'log' | 'onPaid' | 'onRefundDue' | 'onRefundSent' | 'alarm'
>

const QUERY_MS_MAX = 1_000
const REFUND_MS_MAX = 5_000
const CLAIM_MAX = 50

/** The order is about to be closed. True: it is paid. */
export async function settleOrder(context: SettleContext, order: OrderId): Promise<boolean> {
  const open = (await context.payments.ofOrders([order])).filter(payment => payment.state === 'started')
  for (const payment of open) if ((await settlePayment(context, payment, true)) === 'paid') return true
  return false
}

/** One round: queries open payments, sends refunds. True when more may be waiting. */
export async function settlePayments(context: SettleContext): Promise<boolean> {
  const claimed = await context.payments.claim(CLAIM_MAX)
  await Promise.all(
    claimed.map(payment =>
      payment.state === 'refund_due' ? sendRefund(context, payment) : settlePayment(context, payment, !payment.wanted),
    ),
  )
  return claimed.length === CLAIM_MAX
}

/** @param closing the order is about to be closed, or is closed already: the payment is cancelled unless it is captured. One try, one second in all. */
async function settlePayment(context: SettleContext, payment: Payment, closing: boolean): Promise<'paid' | 'open'> {
  const provider = context.providers.get(payment.provider)
  if (provider === undefined) return 'open'
  try {
    return await withDeadline(context.clock, QUERY_MS_MAX, async signal => {
      if (closing && (await provider.cancel(payment.ref, signal)).state === 'void') {
        await context.payments.move(payment.id, 'started', 'void')
        return 'open'
      }
      const state = await recordReply(context, payment, await provider.query(payment.ref, signal))
      return state === 'paid' ? 'paid' : 'open'
    })
  } catch (error) {
    logProviderFault(context, payment, error)
    return 'open'
  }
}

async function sendRefund(context: SettleContext, payment: Payment): Promise<void> {
  const { ref, id, provider: name } = payment
  const provider = context.providers.get(name)
  const impossible = (why: string) => context.alarm('refund_impossible', { provider: name, payment: id, why })
  if (provider === undefined) return impossible('the provider is not configured')
  try {
    await faultPoint('refund.before')
    const { state } = await withDeadline(context.clock, REFUND_MS_MAX, signal => provider.refund(ref, id, signal))
    await faultPoint('refund.sent')
    if (state === 'not_captured') impossible('the provider has no such money')
    if (state === 'refunded' && (await context.payments.move(id, 'refund_due', 'refunded'))) context.onRefundSent()
  } catch (error) {
    logProviderFault(context, payment, error)
  }
}

/** A provider's fault is logged and the call repeated later; a fault of the ledger ends the round; a bug is thrown. */
function logProviderFault(context: SettleContext, payment: Payment, error: unknown): void {
  if (!(error instanceof Fault) || error.code.startsWith('ledger')) throw error
  const { provider, id, tries, state } = payment
  context.log.warn(
    { provider, payment: id, state, tries, code: error.code },
    'payment provider call failed, it will be repeated',
  )
}
