/**
 * The buyer pays. The payment's row is committed before the provider is called, under a reference of ours, so money that arrives after a
 * crash can be assigned. What the provider answers is stored before the buyer sees it: a payment without a stored page can't have been
 * paid by a buyer who was sent here.
 *
 * Starting twice gives the same payment while it can still be paid. A buyer who chooses another provider or method gets a new payment; the open
 * one is cancelled at its provider first. If that fails, the same provider gets no second payment; another one does, and money that arrives
 * twice is refunded.
 */

import { withDeadline } from '../../base/deadline.ts'
import { Fault, onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { BuyerId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import { PAYMENTS_OF_ORDER_MAX, type Payment } from '../../domain/payment.ts'
import type { PaymentProvider, StartedPayment } from '../../payment/payment.ts'
import type { MoneyPorts } from './money-context.ts'
import { type SettleContext, settleOrder, settlePayment } from './settle-payments.ts'

type PayContext = SettleContext &
  Pick<MoneyPorts, 'orders' | 'ids'> & {
    /** Records what providers say of the order's open payments. Bounded: a buyer who starts again and again does not flood them. */
    readonly inquire: (order: OrderId) => Promise<void>
  }

interface PayWish {
  readonly order: OrderId
  readonly buyer: BuyerId
  /** One of the provider's. */
  readonly method: string
  readonly returnUrl: string | undefined
  /** Of the buyer's browser, and who the buyer is at the provider. Neither is stored. */
  readonly address?: string | undefined
  readonly payer?: string | undefined
  readonly describe: (order: Order) => string
}

type StartPaymentOutcome =
  | (Pick<StartedPayment, 'payUrl' | 'qr' | 'client'> & { readonly kind: 'started'; readonly payment: string })
  /**
   * busy: the provider did not answer; a retry continues the same payment. refused: the provider does not take it (its amount, a missing
   * payer), and would not the next time. payments_used: no more payments may be started.
   */
  | { readonly kind: 'missing' | 'paid' | 'closed' | 'busy' | 'refused' | 'payments_used' }

/** Of the provider just now, or the one that is stored. */
type Page = StartedPayment & { readonly isNew: boolean }

const START_MS_MAX = 5_000
/** So long a stored page is shown again without asking the provider. Some are good for five minutes only. */
const PAGE_FRESH_MS = 120_000
const PAGE_LENGTH_MAX = 8_192

export async function startPayment(
  context: PayContext,
  provider: PaymentProvider,
  wish: PayWish,
): Promise<StartPaymentOutcome> {
  const [order] = await context.orders.find([wish.order])
  if (order === undefined || order.buyer !== wish.buyer) return { kind: 'missing' }
  if (order.state !== 'pending') return { kind: order.state }
  // The order is about to be closed: money for it could only be refunded. What has arrived by now still pays it.
  if (order.payByMs !== undefined && order.payByMs <= context.clock.now()) {
    await settleOrder(context, order.id)
    const [after] = await context.orders.find([order.id])
    return { kind: after?.state === 'paid' ? 'paid' : 'closed' }
  }

  const payment = await openPayment(context, provider, order.id, wish.method)
  await faultPoint('payment.recorded')
  if (payment === 'busy') return { kind: 'busy' }
  if (payment === undefined) {
    // Paid or closed since it was read; if not, it has had all its payments.
    const [after] = await context.orders.find([wish.order])
    return { kind: after?.state === 'pending' ? 'payments_used' : (after?.state ?? 'closed') }
  }
  const page = freshPage(context, payment) ?? (await startAt(context, provider, payment, order, wish))
  if (page === undefined) return { kind: 'busy' }
  // A provider also refuses to start what is paid already.
  if (page === 'refused')
    return { kind: (await settlePayment(context, payment, false)) === 'paid' ? 'paid' : 'refused' }
  await faultPoint('payment.begun')
  // A page with data for a form of its own is not enough without that data, which is not stored: the next start asks the provider.
  const { handle, qr, client, isNew } = page
  const kept = { handle, payUrl: client === undefined ? page.payUrl : undefined, qr, isNew }
  if ((await context.payments.keepPage(payment.id, kept)) !== 'started') {
    // It has ended while the provider was asked, perhaps before the start arrived there: then it is open now, and must not stay so.
    const paid = await settlePayment(context, { ...payment, handle: handle ?? payment.handle }, true)
    const [after] = await context.orders.find([wish.order])
    return { kind: paid === 'paid' ? 'paid' : after?.state === 'pending' ? 'busy' : (after?.state ?? 'closed') }
  }
  context.onPaymentChanged(order.id)
  return { kind: 'started', payment: payment.id, payUrl: page.payUrl, qr, client }
}

/** The page that the provider gave a moment ago. The ledger's clock and this one differ: one from the future is as old as it is ahead. */
function freshPage({ clock }: PayContext, payment: Payment): Page | undefined {
  const { pageAtMs } = payment
  const fresh = pageAtMs !== undefined && Math.abs(clock.now() - pageAtMs) < PAGE_FRESH_MS
  return fresh ? storedPage(payment) : undefined
}

function storedPage({ payUrl, handle, qr }: Payment): Page | undefined {
  return payUrl === undefined ? undefined : { payUrl, handle, qr, isNew: false }
}

/** The provider's page; if it does not answer, the one that is stored. Undefined: there is none. */
async function startAt(
  context: PayContext,
  provider: PaymentProvider,
  payment: Payment,
  order: Order,
  wish: PayWish,
): Promise<Page | 'refused' | undefined> {
  const request = {
    ref: payment.ref,
    amount: payment.amount,
    order: order.id,
    description: wish.describe(order),
    returnUrl: wish.returnUrl,
    payByMs: order.payByMs ?? context.clock.now(),
    method: wish.method,
    handle: payment.handle,
    address: wish.address,
    payer: wish.payer,
  }
  const start = async () => {
    const started = await withDeadline(context.clock, START_MS_MAX, signal => provider.start(request, signal))
    if (started.payUrl.length > PAGE_LENGTH_MAX || (started.qr?.length ?? 0) > PAGE_LENGTH_MAX)
      throw new Fault('payment_refused', `the page of payment ${payment.ref} has an address that is too long`)
    return { ...started, isNew: true }
  }
  return onFault(start, ({ code, retryable }): Page | 'refused' | undefined => {
    context.log.warn(
      { event: 'payment_not_started', provider: provider.name, payment: payment.id, code },
      'payment not started at its provider',
    )
    return retryable ? storedPage(payment) : 'refused'
  })
}

/** The order's open payment: an earlier one that can still be paid in this way, or a new one. */
async function openPayment(
  context: PayContext,
  provider: PaymentProvider,
  order: OrderId,
  method: string,
): Promise<Payment | 'busy' | undefined> {
  const methodOf = (payment: Payment) => payment.method ?? provider.methods[0]?.name
  const isWanted = (one: Payment) => one.provider === provider.name && methodOf(one) === method
  const all = await context.payments.ofOrders([order])
  const open = all.filter(({ state }) => state === 'started')
  const unwanted = open.filter(payment => !isWanted(payment))
  // At the bound the open one is all that is left to the buyer: it is not cancelled for another that can't be started.
  if (unwanted.length > 0 && unwanted.length === open.length && all.length >= PAYMENTS_OF_ORDER_MAX) return undefined
  for (const payment of unwanted) if ((await settlePayment(context, payment, true)) === 'paid') return undefined

  const id = context.ids.next()
  const start = () => context.payments.start(id, order, provider.name, method)
  const payment = await start()
  if (payment === undefined || payment.id === id) return payment
  if (!isWanted(payment)) return 'busy'
  // Its callback may be lost or delayed: without this query a buyer could be sent to a declined payment, or to pay twice. If nothing can be
  // asked now, the same payment is started once more, which is safe.
  await context.inquire(order)
  const again = await start()
  return again === undefined || isWanted(again) ? again : 'busy'
}
