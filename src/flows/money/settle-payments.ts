/**
 * What a provider says of a payment, in a callback or in reply to a query; payments without a callback, and refunds that are due.
 *
 * Money that has arrived pays the order, or becomes a refund. One function in the ledger decides, and the same capture twice counts once. A
 * wrong amount is refused and alarmed, never rounded or accepted in part.
 *
 * Lost callbacks are found by active queries: each open payment is queried now and then, sooner when its order is due. Refunds are rows,
 * sent with an idempotency key until the provider confirms. A row moves only after the provider has answered; a crash in between repeats
 * the question. Refunds do not wait for queries, nor one provider for another (`provider-lanes.ts`).
 */

import { unreachable } from '../../base/assert.ts'
import { withDeadline } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Money } from '../../domain/money.ts'
import type { Payment, PaymentEnd } from '../../domain/payment.ts'
import type { CaptureOutcome, ClaimedPayment, PaymentLane } from '../../ledger/payments.ts'
import type { PaymentKey, ProviderReply } from '../../payment/payment.ts'
import type { MoneyPorts } from './money-context.ts'
import { ProviderLanes } from './provider-lanes.ts'
import { leftOfParts, REFUND_MS_MAX } from './refund-orders.ts'

export type CaptureContext = Pick<MoneyPorts, 'payments' | 'onPaid' | 'onPaymentChanged' | 'onRefundDue' | 'alarm'>
export type SettleContext = CaptureContext &
  Pick<MoneyPorts, 'refunds' | 'providers' | 'clock' | 'log' | 'onRefundSent'>

const QUERY_MS_MAX = 1_000
/** No refund is tried so often: only what no provider can be asked about is counted. */
const TRIES_ALL = 2 ** 31 - 1

/** The order is about to be closed. True: it is paid. */
export async function settleOrder(context: SettleContext, order: OrderId): Promise<boolean> {
  const open = (await context.payments.ofOrders([order])).filter(payment => payment.state === 'started')
  for (const payment of open) if ((await settlePayment(context, payment, true)) === 'paid') return true
  return false
}

/** Queries open payments and sends refunds, round by round; each provider has a lane for either. */
export class PaymentSettler {
  readonly #lanes: ProviderLanes<PaymentLane, ClaimedPayment>

  constructor(context: SettleContext) {
    const lanes: PaymentLane[] = [...context.providers.keys()].flatMap(provider => [
      { state: 'refund_due', provider },
      { state: 'started', provider },
    ])
    // Where nobody can be asked, a refund that is due must still raise its alarm.
    const elsewhere: PaymentLane = { state: 'refund_due', provider: '' }
    this.#lanes = new ProviderLanes({
      clock: context.clock,
      lanes: [...lanes, elsewhere],
      take: (rooms, without) => context.payments.claim(rooms, without),
      // A shop's own till reports its refunds: none is sent there, so none is tried again.
      isIdle: ({ state, provider }) => state === 'refund_due' && context.providers.get(provider)?.reports === true,
      laneOf: ({ state, provider }) => lanes.find(one => one.state === state && one.provider === provider) ?? elsewhere,
      ask: async payment => {
        if (payment.state === 'refund_due') await sendRefund(context, payment)
        else await settlePayment(context, payment, !payment.wanted)
      },
    })
  }

  /** True when more may be waiting. */
  round(): Promise<boolean> {
    return this.#lanes.round()
  }
}

/** Open payments whose provider can't be asked. */
export async function countUnconfigured({ payments, providers }: Pick<MoneyPorts, 'payments' | 'providers'>) {
  const stuck = await payments.stuck(TRIES_ALL, [...providers.keys()], { providers: [], withinMs: 0 })
  return stuck.reduce((sum, { open }) => sum + open, 0)
}

/**
 * One try, one second in all.
 * @param closing the payment is not wanted any more (its order is closed, or about to be, or is to be paid otherwise): it is cancelled unless
 *                it is captured
 */
export async function settlePayment(
  context: SettleContext,
  payment: Payment,
  closing: boolean,
): Promise<'paid' | 'open'> {
  const provider = context.providers.get(payment.provider)
  if (provider === undefined) return 'open'
  try {
    return await withDeadline(context.clock, QUERY_MS_MAX, async signal => {
      const cancelled = closing ? await provider.cancel(keyOf(payment), signal) : undefined
      if (cancelled?.state === 'void') {
        await context.payments.move(payment.id, 'started', 'void', 'cancelled', cancelled.untilMs)
        return 'open'
      }
      const state = await recordReply(context, payment, await provider.query(keyOf(payment), signal))
      return state === 'paid' ? 'paid' : 'open'
    })
  } catch (error) {
    logProviderFault(context, payment, error)
    return 'open'
  }
}

async function sendRefund(context: SettleContext, payment: Payment): Promise<void> {
  const { id, provider: name } = payment
  const provider = context.providers.get(name)
  const impossible = (why: string) => context.alarm('refund_impossible', { provider: name, payment: id, why })
  if (provider === undefined) return impossible('the provider is not configured')
  try {
    await faultPoint('refund.before')
    const part = await leftOfParts(context.refunds, payment)
    const { state } = await withDeadline(context.clock, REFUND_MS_MAX, signal =>
      provider.refund(keyOf(payment), { key: id, captured: payment.amount, part }, signal),
    )
    await faultPoint('refund.sent')
    if (state === 'not_captured') impossible('the provider has no such money')
    if (state === 'refunded' && (await context.payments.move(id, 'refund_due', 'refunded'))) {
      context.onRefundSent()
      context.onPaymentChanged(payment.order)
    }
  } catch (error) {
    logProviderFault(context, payment, error)
  }
}

/** A provider's fault is logged and the call repeated later; a fault of the ledger ends the round; a bug is thrown. */
function logProviderFault(context: SettleContext, payment: Payment, error: unknown): void {
  if (!(error instanceof Fault) || error.code.startsWith('ledger')) throw error
  const { provider, id, tries, state } = payment
  context.log.warn(
    { event: 'provider_failed', provider, payment: id, state, tries, code: error.code },
    'payment provider call failed, it will be repeated',
  )
}

export async function recordCapture(
  context: CaptureContext,
  provider: string,
  capture: { readonly ref: string; readonly amount: Money; readonly atMs: number },
): Promise<CaptureOutcome> {
  const { ref, amount, atMs } = capture
  await faultPoint('pay.before')
  const { outcome, order, item } = await context.payments.capture(provider, ref, amount, atMs)
  await faultPoint('pay.after')
  announce(context, outcome, { provider, ref, amount, order, item })
  return outcome
}

/** What follows from a capture once it is decided, in this process. */
export function announce(
  context: CaptureContext,
  outcome: CaptureOutcome,
  capture: {
    readonly provider: string
    readonly ref: string
    readonly amount: Money
    readonly order: OrderId | undefined
    readonly item: ItemId | undefined
  },
): void {
  const { provider, ref, amount, order, item } = capture
  switch (outcome) {
    case 'paid':
      if (order !== undefined && item !== undefined) context.onPaid(order, item)
      break
    case 'late':
    case 'second':
      context.onRefundDue()
      break
    case 'wrong_amount':
      context.alarm('wrong_amount', { provider, ref, amount, ...(order !== undefined && { order }) })
      break
    case 'unknown':
      context.alarm('unknown_payment', { provider, ref, ...(order !== undefined && { order }) })
      break
    case 'same':
      break
    default:
      unreachable(outcome)
  }
}

/** It can't be paid any more: the buyer is told at once. */
export async function recordVoid(context: CaptureContext, payment: Payment, why?: PaymentEnd): Promise<void> {
  const ended = await context.payments.move(payment.id, 'started', 'void', why)
  if (ended) context.onPaymentChanged(payment.order)
}

/** A try to pay has failed, told by this event or by a query: the buyer is told at once, and can still pay. */
export async function recordDecline(context: CaptureContext, payment: Payment, event?: string): Promise<void> {
  const declined = await context.payments.decline(payment.id, event)
  if (declined) context.onPaymentChanged(payment.order)
}

/** What a provider needs to know of a payment. */
export function keyOf({ ref, handle }: Payment): PaymentKey {
  return { ref, handle }
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
      await recordVoid(context, payment, reply.why)
      return 'over'
    case 'refunded':
      await recordVoid(context, payment, 'cancelled')
      return 'over'
    case 'open':
      if (reply.declined) await recordDecline(context, payment)
      return 'open'
    case 'unknown':
      return 'open'
    default:
      return unreachable(reply)
  }
}
