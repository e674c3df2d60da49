import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import { LateCancels } from './late-cancels.ts'
import { settlePayment } from './settle-payments.ts'

const ledger = ledgerForFile()
const HOUR_MS = 3_600_000

type Trade = 'unopened' | 'paid' | 'closed' | 'silent'

/** A provider that hears of a payment when its page is opened. All callbacks are lost. */
function lateProvider(untilMs = systemClock.now() + HOUR_MS) {
  const trades = new Map<string, Trade>()
  const tradeOf = (ref: string) => {
    const trade = trades.get(ref) ?? 'unopened'
    if (trade === 'silent') throw new Fault('payment_unreachable', 'no answer', { retryable: true })
    return trade
  }
  const provider = {
    name: 'late',
    cancelsLate: true,
    async cancel({ ref }) {
      const trade = tradeOf(ref)
      if (trade === 'paid') return { state: 'captured' }
      return trade === 'unopened' ? { state: 'void', untilMs } : { state: 'void' }
    },
    async query({ ref }) {
      if (tradeOf(ref) !== 'paid') return { state: 'open' }
      return { state: 'captured', amount: amounts.get(ref)!, capturedAtMs: systemClock.now() }
    },
  } as Partial<PaymentProvider> as PaymentProvider
  const amounts = new Map<string, { amount: number; currency: string }>()
  const context = {
    payments: ledger.payments,
    refunds: ledger.refunds,
    providers: new Map([['late', provider]]),
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    onPaid() {},
    onPaymentChanged() {},
    onRefundDue() {},
    onRefundSent() {},
    alarm() {},
  }
  const late = new LateCancels(context)
  return {
    trades,
    /** An order that was cancelled with a payment whose page was not opened. */
    async cancelled() {
      const on = await ledger.openItem()
      const ask = ledger.ask('ann')
      await ledger.orders.place(on.item, on.epoch, false, [ask])
      const payment = (await ledger.payments.start(ledger.id(), ask.order, 'late'))!
      amounts.set(payment.ref, payment.amount)
      await settlePayment(context, payment, true)
      await ledger.closings.close(on.item, [ask.order], 'cancelled')
      return payment
    },
    /** As if its time had come. */
    async cancelAgain() {
      await ledger.sql("UPDATE payments SET next_try_at = clock_timestamp() WHERE provider = 'late'")
      while (await late.round());
    },
    async stateOf(id: string) {
      const [row] = await ledger.sql(
        'SELECT state, why, look_until IS NOT NULL AS looked FROM payments WHERE id = $1',
        [id],
      )
      return [row!.state, row!.why, row!.looked]
    },
  }
}

test('money of a page that was opened after its payment was cancelled is found without a callback, and goes back', async () => {
  const { trades, cancelled, cancelAgain, stateOf } = lateProvider()
  const payment = await cancelled()
  expect(await stateOf(payment.id)).toEqual(['void', null, true])
  await cancelAgain()
  expect(await stateOf(payment.id)).toEqual(['void', null, true])
  trades.set(payment.ref, 'paid')
  await cancelAgain()
  expect(await stateOf(payment.id)).toEqual(['refund_due', 'late', false])
})

test('a page that was opened and closed is not asked about again, nor is one whose time is over', async () => {
  const { trades, cancelled, cancelAgain, stateOf } = lateProvider()
  const [opened, over] = [await cancelled(), await cancelled()]
  trades.set(opened.ref, 'closed')
  await ledger.sql('UPDATE payments SET look_until = clock_timestamp() WHERE id = $1', [over.id])
  await cancelAgain()
  expect(await stateOf(opened.id)).toEqual(['void', null, false])
  expect(await stateOf(over.id)).toEqual(['void', null, false])
})

test('a provider that does not answer at the last moment is asked again', async () => {
  const { trades, cancelled, cancelAgain, stateOf } = lateProvider()
  const payment = await cancelled()
  trades.set(payment.ref, 'silent')
  await ledger.sql('UPDATE payments SET look_until = clock_timestamp() WHERE id = $1', [payment.id])
  await cancelAgain()
  expect(await stateOf(payment.id)).toEqual(['void', null, true])
  trades.set(payment.ref, 'paid')
  await cancelAgain()
  expect(await stateOf(payment.id)).toEqual(['refund_due', 'late', false])
})
