import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { PRICE } from '../../../test/harness/money-ledger.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Order } from '../../domain/order.ts'
import type { PaymentProvider, RefundRequest } from '../../payment/payment.ts'
import { PartSender, refundOrder } from './refund-orders.ts'
import { PaymentSettler } from './settle-payments.ts'

const ledger = ledgerForFile()
const log = { debug() {}, info() {}, warn() {}, error() {} }

/** A paid order, and a provider that refuses nothing but may be slow. */
async function open(name: string, states: readonly ('pending' | 'refunded' | 'not_captured' | Fault)[] = []) {
  const on = await ledger.openItem()
  const ask = ledger.ask('ann')
  await ledger.orders.place(on.item, on.epoch, false, [ask])
  const payment = (await ledger.payments.start(ledger.id(), ask.order, name))!
  await ledger.payments.capture(name, payment.ref, payment.amount, 1_700_000_000_000)
  const [order] = await ledger.orders.find([ask.order])
  const sent: RefundRequest[] = []
  const alarms: string[] = []
  const provider = {
    name,
    async refund(_: unknown, request: RefundRequest) {
      const state = states[sent.length] ?? 'refunded'
      sent.push(request)
      if (state instanceof Fault) throw state
      return { state }
    },
  } as unknown as PaymentProvider
  const context = {
    ...ledger,
    providers: new Map([[name, provider]]),
    clock: systemClock,
    log,
    onPaid() {},
    onPaymentChanged() {},
    onClosed() {},
    onRefundDue() {},
    onRefundSent() {},
    onOrderRefunded() {},
    releaseNow: async () => {},
    alarm: (what: string) => void alarms.push(what),
  }
  return {
    payment,
    sent,
    alarms,
    context,
    refund: (amount?: number, id = ledger.id()) =>
      refundOrder(context, order as Order, {
        id,
        amount: amount === undefined ? undefined : { ...PRICE, amount },
        restock: false,
        reason: undefined,
        by: 'op',
      }),
    states: async () => [
      (await ledger.payments.find(name, payment.ref))?.state,
      ...(await ledger.refunds.ofOrders([ask.order])).map(({ state }) => state),
    ],
    /** Everything is due at once, and again at each round. */
    async rounds(isDone: () => Promise<boolean>) {
      const [parts, whole] = [new PartSender(context), new PaymentSettler(context)]
      await until('the refunds are settled', async () => {
        await ledger.sql('UPDATE refund_parts SET next_try_at = clock_timestamp()')
        await ledger.sql("UPDATE payments SET next_try_at = clock_timestamp() WHERE state = 'refund_due'")
        await parts.round()
        await whole.round()
        return isDone()
      })
    },
  }
}

test('a part is sent under one key until it is confirmed, whatever the provider says before', async () => {
  const away = new Fault('payment_unreachable', 'no answer', { retryable: true })
  const stage = await open('slow', [away, 'pending', 'refunded'])
  const id = ledger.id()
  expect(await stage.refund(300, id)).toMatchObject({ outcome: 'done' })
  await stage.rounds(async () => (await stage.states()).join() === 'captured,refunded')
  const request = { key: id, captured: PRICE, part: { ...PRICE, amount: 300 } }
  expect(stage.sent).toEqual([request, request, request])
  await new PartSender(stage.context).round()
  expect(stage.sent, 'it is not sent again').toHaveLength(3)
})

test('what parts have left is sent after them, under the payment’s key, with its amount', async () => {
  const stage = await open('orderly', ['pending'])
  await stage.refund(300)
  await stage.refund(200)
  await stage.refund()
  await stage.rounds(async () => (await stage.states()).join() === 'refunded,refunded,refunded')
  const last = stage.sent.at(-1)
  expect(last).toEqual({ key: stage.payment.id, captured: PRICE, part: { ...PRICE, amount: PRICE.amount - 500 } })
  expect(stage.sent.filter(({ key }) => key === stage.payment.id)).toHaveLength(1)
})

test('a part at a provider that is not configured, or that knows no such money, raises the alarm and stays due', async () => {
  const lost = await open('forgetful', ['not_captured'])
  await lost.refund(300)
  await new PartSender(lost.context).round()
  expect([lost.alarms, await lost.states()]).toEqual([['refund_impossible'], ['captured', 'due']])
  const gone = await open('gone')
  await gone.refund(300)
  await new PartSender({ ...gone.context, providers: new Map() }).round()
  expect(gone.alarms).toContain('refund_impossible')
  expect([gone.sent, await gone.states()]).toEqual([[], ['captured', 'due']])
})
