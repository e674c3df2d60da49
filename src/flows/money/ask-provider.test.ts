/** A buyer who is back has the provider asked: once at a time, not too often, and never in vain for long. */

import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { PRICE } from '../../../test/harness/money-ledger.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { PaymentProvider } from '../../payment/payment.ts'
import { ProviderInquiries } from './ask-provider.ts'
import type { SettleContext } from './settle-payments.ts'

const ledger = ledgerForFile()

function open(query: () => Promise<unknown>) {
  const seen = { lateMs: 0, queries: 0, changed: [] as string[] }
  const payment = { id: '7', order: '1', ref: '7', provider: 'house', state: 'started' }
  const house = {
    query: () => {
      seen.queries += 1
      return query()
    },
  }
  const context = {
    payments: {
      ofOrders: async ([order]: readonly string[]) => [{ ...payment, order }],
      decline: async () => true,
    },
    providers: new Map([['house', house]]),
    clock: { ...systemClock, elapsed: () => systemClock.elapsed() + seen.lateMs },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    onPaymentChanged: (order: string) => void seen.changed.push(order),
  } as unknown as SettleContext
  return { seen, inquiries: new ProviderInquiries(context) }
}

test('many who ask at once cost one question, and another one only after a while; a decline is published', async () => {
  const { seen, inquiries } = open(async () => ({ state: 'open', declined: true }))
  await Promise.all([1, 2, 3].map(() => inquiries.ask('1')))
  await inquiries.ask('1')
  expect(seen).toMatchObject({ queries: 1, changed: ['1'] })
  seen.lateMs = 2_000
  await inquiries.ask('1')
  expect(seen.queries).toBe(2)
})

test('at the bound nothing is asked, and a provider that fails does not fail the buyer', async () => {
  const away = Promise.withResolvers<never>()
  const { seen, inquiries } = open(() => away.promise)
  const asked = Array.from({ length: 100 }, (_, i) => inquiries.ask(`${i}`))
  await inquiries.ask('200')
  away.reject(new Fault('payment_unreachable', 'away', { retryable: true }))
  await Promise.all(asked)
  expect(seen.queries).toBe(30)
  seen.lateMs = 2_000
  await inquiries.ask('200')
  expect(seen.queries, 'a second later').toBe(31)
})

test('a provider that does not answer hides no payment at another', async () => {
  const { item, epoch } = await ledger.openItem()
  const ask = ledger.ask('ann')
  await ledger.orders.place(item, epoch, false, [ask])
  for (const name of ['silent', 'brisk']) await ledger.payments.start(ledger.id(), ask.order, name)
  const away = new Fault('payment_unreachable', 'away', { retryable: true })
  const replies = {
    silent: () => Promise.reject(away),
    brisk: async () => ({ state: 'captured', amount: PRICE, capturedAtMs: 1 }),
  }
  const providers = Object.entries(replies).map(
    ([name, query]) => [name, { name, query } as unknown as PaymentProvider] as const,
  )
  const inquiries = new ProviderInquiries({
    payments: ledger.payments,
    refunds: ledger.refunds,
    providers: new Map(providers),
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    onPaid() {},
    onRefundDue() {},
    onPaymentChanged() {},
    onRefundSent() {},
    alarm() {},
  })
  await inquiries.ask(ask.order)
  expect((await ledger.orders.find([ask.order]))[0]?.state).toBe('paid')
})
