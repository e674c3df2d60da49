/**
 * An operator gives money back: all of it, which closes the order, or a part, and the order stays paid. What goes back is decided by the
 * ledger under the order's lock, so that parts and the whole never amount to more than was captured, with several operators at once. The
 * provider gets it afterwards: the whole by `settle-payments.ts`, parts here, each as a row of its own that is sent under its own
 * idempotency key until the provider confirms it. A crash between two steps repeats the last one.
 */

import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Money } from '../../domain/money.ts'
import type { Order } from '../../domain/order.ts'
import type { Payment } from '../../domain/payment.ts'
import type { RefundPart } from '../../domain/refund-part.ts'
import type { PartAnswer, Refunds } from '../../ledger/refunds.ts'
import type { MoneyContext, MoneyPorts } from './money-context.ts'
import { ProviderLanes } from './provider-lanes.ts'

type AskContext = Pick<MoneyContext, 'closings' | 'refunds' | 'releaseNow' | 'onRefundDue' | 'onOrderRefunded'>
type SendContext = Pick<MoneyPorts, 'refunds' | 'payments' | 'providers' | 'clock' | 'log' | 'onRefundSent' | 'alarm'>

export const REFUND_MS_MAX = 5_000

interface RefundWish {
  /** Of a part: the same id again is the same part. */
  readonly id: string
  /** Undefined: all that is left. */
  readonly amount: Money | undefined
  readonly restock: boolean
  readonly reason: string | undefined
  readonly by: string
}

export type RefundRefusal = Exclude<PartAnswer['outcome'], 'refunded' | 'same' | 'part' | 'unknown'>

type RefundAnswer = Omit<PartAnswer, 'outcome'> & { readonly outcome: 'done' | RefundRefusal }

/** Asking again gives the same answer. */
export async function refundOrder(context: AskContext, order: Order, wish: RefundWish): Promise<RefundAnswer> {
  const { amount, restock, by, reason } = wish
  const { id, item } = order
  await faultPoint('refund.before')
  const { outcome, refundable } =
    amount === undefined
      ? { outcome: await context.closings.refund(id, item, restock, by, reason), refundable: undefined }
      : await context.refunds.part({ ...wish, order: id, item, amount })
  if (outcome === 'part' || outcome === 'refunded') context.onRefundDue()
  if (outcome === 'refunded') {
    // Even without restock the gate must learn that the attempt is closed.
    await context.releaseNow([order.id])
    context.onOrderRefunded(order.id)
  }
  if (outcome === 'part' || outcome === 'refunded' || outcome === 'same') return { outcome: 'done', refundable }
  return { outcome: outcome === 'unknown' ? 'not_paid' : outcome, refundable }
}

/** What parts have left of a payment that has to go back whole; undefined: it has had none. Its parts are confirmed, and no more are asked for. */
export async function leftOfParts(refunds: Pick<Refunds, 'ofOrders'>, payment: Payment): Promise<Money | undefined> {
  const parts = (await refunds.ofOrders([payment.order])).filter(part => part.payment === payment.id)
  if (parts.length === 0) return undefined
  const { amount, currency } = payment.amount
  return { amount: parts.reduce((left, part) => left - part.amount.amount, amount), currency }
}

/** Sends the parts that are due, round by round; each provider has a lane of its own. */
export class PartSender {
  readonly #lanes: ProviderLanes<string, RefundPart>

  constructor(context: SendContext) {
    const lanes = [...context.providers.keys()]
    // A part at a provider that can't be asked must still raise its alarm.
    const elsewhere = ''
    this.#lanes = new ProviderLanes({
      clock: context.clock,
      lanes: [...lanes, elsewhere],
      take: (rooms, without) => context.refunds.claim(rooms, without),
      // A shop that takes the money itself reports its parts.
      isIdle: provider => context.providers.get(provider)?.reports === true,
      laneOf: ({ provider }) => (context.providers.has(provider) ? provider : elsewhere),
      ask: part => sendPart(context, part),
    })
  }

  /** True when more may be waiting. */
  round(): Promise<boolean> {
    return this.#lanes.round()
  }
}

async function sendPart(context: SendContext, part: RefundPart): Promise<void> {
  const { id, payment: paymentId, provider: name, ref } = part
  const impossible = (why: string) =>
    context.alarm('refund_impossible', { provider: name, payment: paymentId, part: id, why })
  const provider = context.providers.get(name)
  if (provider === undefined) return impossible('the provider is not configured')
  const payment = await context.payments.find(name, ref)
  if (payment === undefined) return impossible('there is no such payment')
  try {
    await faultPoint('refund.before')
    const { state } = await withDeadline(context.clock, REFUND_MS_MAX, signal =>
      provider.refund(payment, { key: id, captured: payment.amount, part: part.amount }, signal),
    )
    await faultPoint('refund.sent')
    if (state === 'not_captured') impossible('the provider has no such money')
    if (state === 'refunded' && (await context.refunds.settle(id))) context.onRefundSent()
  } catch (error) {
    // A fault of the ledger ends the round; a bug is thrown.
    if (!(error instanceof Fault) || error.code.startsWith('ledger')) throw error
    const fields = {
      event: 'refund_part_not_sent',
      provider: name,
      payment: paymentId,
      part: id,
      tries: part.tries,
      code: error.code,
    } as const
    context.log.warn(fields, 'part of a refund not sent, it will be repeated')
  }
}
