/**
 * The buyer pays. The payment's row is committed before the provider is called, under a reference of ours, so money that arrives after a
 * crash can be assigned. Starting twice gives the same payment while it can still be paid. The provider's callback may come never, twice,
 * late or forged.
 */

import { withDeadline } from '../../base/deadline.ts'
import { onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Payment } from '../../domain/payment.ts'
import type { CallbackEvent, PaymentProvider } from '../../payment/payment.ts'
import type { MoneyPorts } from './money-context.ts'
import { recordCapture, recordReply } from './settle-payments.ts'

type PayContext = Pick<MoneyPorts, 'orders' | 'payments' | 'ids' | 'clock' | 'onPaid' | 'onRefundDue' | 'alarm'>

type StartPaymentOutcome =
  | { readonly kind: 'started'; readonly payment: string; readonly payUrl: string }
  /** busy: the provider did not answer; a retry continues the same payment. payments_used: no more payments may be started. */
  | { readonly kind: 'missing' | 'paid' | 'closed' | 'busy' | 'payments_used' }

const START_MS_MAX = 5_000
const QUERY_MS_MAX = 1_000

export async function startPayment(
  context: PayContext,
  provider: PaymentProvider,
  wish: {
    readonly order: OrderId
    readonly buyer: BuyerId
    readonly returnUrl: string | undefined
    readonly describe: (order: Order) => string
  },
): Promise<StartPaymentOutcome> {
  const [order] = await context.orders.find([wish.order])
  if (order === undefined || order.buyer !== wish.buyer) return { kind: 'missing' }
  if (order.state !== 'pending') return { kind: order.state }

  const payment = await openPayment(context, provider, order.id)
  await faultPoint('payment.recorded')
  if (payment === undefined) {
    // Paid or closed since it was read; if not, it has had all its payments.
    const [after] = await context.orders.find([wish.order])
    return { kind: after?.state === 'pending' ? 'payments_used' : (after?.state ?? 'closed') }
  }
  const request = {
    ref: payment.ref,
    amount: payment.amount,
    description: wish.describe(order),
    returnUrl: wish.returnUrl,
    payByMs: order.payByMs ?? context.clock.now(),
  }
  const start = () => withDeadline(context.clock, START_MS_MAX, signal => provider.start(request, signal))
  const started = await onFault(start, () => undefined)
  return started === undefined ? { kind: 'busy' } : { kind: 'started', payment: payment.id, payUrl: started.payUrl }
}

/** The order's open payment: an earlier one that can still be paid, or a new one. */
async function openPayment(
  context: PayContext,
  provider: PaymentProvider,
  order: OrderId,
): Promise<Payment | undefined> {
  const id = context.ids.next()
  const payment = await context.payments.start(id, order, provider.name)
  if (payment === undefined || payment.id === id) return payment
  // Its callback may be lost or delayed: without this query a buyer could be sent to a declined payment, or to pay twice.
  const isOver = await isPaymentOver(context, provider, payment)
  return isOver ? context.payments.start(id, order, provider.name) : payment
}

async function isPaymentOver(context: PayContext, provider: PaymentProvider, payment: Payment): Promise<boolean> {
  const query = () => withDeadline(context.clock, QUERY_MS_MAX, signal => provider.query(payment, signal))
  const reply = await onFault(query, () => undefined)
  // No answer: the same payment is started once more, which is safe.
  return reply !== undefined && (await recordReply(context, payment, reply)) !== 'open'
}

/** Records a callback with a verified signature. Twice counts once. */
export async function recordCallback(context: PayContext, provider: string, event: CallbackEvent): Promise<void> {
  let outcome: string = event.kind
  if (event.kind === 'captured') outcome = await recordCapture(context, provider, event)
  else if (event.kind === 'void') {
    const payment = await context.payments.find(provider, event.ref)
    if (payment !== undefined) await context.payments.move(payment.id, 'started', 'void')
  }
  // Last: an event is recorded as handled only after it was.
  await context.payments.recordCallback(provider, event.eventId, event.ref, outcome)
}
