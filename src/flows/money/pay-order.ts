/**
 * The buyer pays. The payment's row is written before the provider hears of it, under a reference of ours: whatever dies in between,
 * money that arrives is known. Starting twice gives the same payment, as long as it can be paid; the provider's callback may come never,
 * twice, late or forged.
 */

import type { Clock } from '../../base/clock.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Payment } from '../../domain/payment.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { Payments } from '../../ledger/payments.ts'
import type { CallbackEvent, PaymentProvider, ProviderReply } from '../../payment/payment.ts'
import { type CaptureParts, takeCapture } from './take-capture.ts'
import { takeReply } from './take-reply.ts'

export interface PayParts extends CaptureParts {
  readonly orders: Orders
  readonly payments: Payments
  readonly ids: Pick<IdMaker, 'next'>
  readonly clock: Clock
}

type StartPaymentOutcome =
  | { readonly kind: 'started'; readonly payment: string; readonly payUrl: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'paid' }
  | { readonly kind: 'closed' }
  /** The provider did not answer. Asking again continues the same payment. */
  | { readonly kind: 'busy' }

const START_MS_MAX = 5_000
const ASK_MS_MAX = 1_000

export async function startPayment(
  parts: PayParts,
  provider: PaymentProvider,
  wish: {
    readonly order: OrderId
    readonly buyer: BuyerId
    readonly returnUrl: string | undefined
    readonly describe: (order: Order) => string
  },
): Promise<StartPaymentOutcome> {
  const [order] = await parts.orders.find([wish.order])
  if (order === undefined || order.buyer !== wish.buyer) return { kind: 'missing' }
  if (order.state !== 'pending') return { kind: order.state }

  const payment = await openPayment(parts, provider, order.id)
  await faultPoint('payment.recorded')
  if (payment === undefined) {
    // Paid or closed since we looked.
    const [after] = await parts.orders.find([wish.order])
    return { kind: after?.state === 'paid' ? 'paid' : 'closed' }
  }
  try {
    const request = {
      ref: payment.ref,
      amount: payment.amount,
      description: wish.describe(order),
      returnUrl: wish.returnUrl,
      payByMs: order.payByMs ?? parts.clock.now(),
    }
    const { payUrl } = await withDeadline(parts.clock, START_MS_MAX, signal => provider.start(request, signal))
    return { kind: 'started', payment: payment.id, payUrl }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'busy' }
    throw error
  }
}

/** The payment to go on with: a new one, or the one that was begun before, unless the provider says that it is through. */
async function openPayment(parts: PayParts, provider: PaymentProvider, order: OrderId): Promise<Payment | undefined> {
  const id = parts.ids.next()
  const payment = await parts.payments.start(id, order, provider.name)
  if (payment === undefined || payment.id === id) return payment
  // Its callback may be lost or still on its way: nobody is sent to a payment that is declined, or to pay twice.
  return (await isThrough(parts, provider, payment)) ? parts.payments.start(id, order, provider.name) : payment
}

async function isThrough(parts: PayParts, provider: PaymentProvider, payment: Payment): Promise<boolean> {
  let reply: ProviderReply
  try {
    reply = await withDeadline(parts.clock, ASK_MS_MAX, signal => provider.query(payment.ref, signal))
  } catch (error) {
    // It does not say: then it is started once more, which is the same payment.
    if (error instanceof Fault) return false
    throw error
  }
  return (await takeReply(parts, payment, reply)) !== 'open'
}

/** A callback whose signature was found good. Twice is once; what it says of money is believed only to the last cent. */
export async function takeCallback(parts: PayParts, provider: string, event: CallbackEvent): Promise<void> {
  let outcome: string = event.kind
  if (event.kind === 'captured') outcome = await takeCapture(parts, provider, event)
  else if (event.kind === 'void') {
    const payment = await parts.payments.find(provider, event.ref)
    if (payment !== undefined) await parts.payments.move(payment.id, 'started', 'void')
  }
  // Last: an event is only recorded as handled when it was.
  await parts.payments.recordCallback(provider, event.eventId, event.ref, outcome)
}
