import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { PRICE } from '../../../test/harness/money-ledger.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { PaymentProvider, ProviderReply } from '../../payment/payment.ts'
import { startPayment } from './pay-order.ts'

const ledger = ledgerForFile()

/** A provider that gives a new page whenever it is asked, unless it is away. */
function createHouse() {
  const house = { starts: 0, away: false }
  const answer = <T>(make: () => T) => {
    if (house.away) throw new Fault('payment_unreachable', 'no answer', { retryable: true })
    return make()
  }
  const provider = {
    name: 'house',
    methods: [{ name: 'page', qr: false }],
    start: async () => answer(() => ({ payUrl: `https://house.example/${++house.starts}` })),
    query: async (): Promise<ProviderReply> => answer(() => ({ state: 'open' }) as const),
  } as unknown as PaymentProvider
  return { house, provider }
}

async function createBuyer(provider: PaymentProvider) {
  const { item, epoch } = await ledger.openItem()
  const ask = ledger.ask('ann')
  const { order, buyer } = ask
  await ledger.orders.place(item, epoch, false, [ask])
  const context = {
    orders: ledger.orders,
    payments: ledger.payments,
    refunds: ledger.refunds,
    providers: new Map([[provider.name, provider]]),
    ids: { next: () => ledger.id() },
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    onPaid() {},
    onRefundDue() {},
    onPaymentChanged() {},
    onRefundSent() {},
    alarm() {},
    inquire: async () => {},
  }
  return {
    pay: async () => {
      const wish = { order, buyer, method: 'page', returnUrl: undefined, describe: () => 'a thing' }
      const outcome = await startPayment(context, provider, wish)
      return outcome.kind === 'started' ? outcome.payUrl : outcome.kind
    },
    pass: (seconds: number) =>
      ledger.sql("UPDATE payments SET page_at = page_at - $2 * interval '1 second' WHERE order_id = $1", [
        order,
        seconds,
      ]),
  }
}

test('a page is shown again for two minutes since the provider gave it, however often it is shown', async () => {
  const { provider } = createHouse()
  const { pay, pass } = await createBuyer(provider)
  expect([await pay(), await pay()]).toEqual(['https://house.example/1', 'https://house.example/1'])
  await pass(100)
  expect(await pay()).toBe('https://house.example/1')
  await pass(100)
  expect(await pay()).toBe('https://house.example/2')
})

test('an old page that is shown because the provider is away is not taken for a new one', async () => {
  const { house, provider } = createHouse()
  const { pay, pass } = await createBuyer(provider)
  await pay()
  await pass(200)
  house.away = true
  expect(await pay()).toBe('https://house.example/1')
  house.away = false
  expect(await pay()).toBe('https://house.example/2')
})

test('a payment that the provider refuses for good is told so, and one that it refuses because it is paid is paid', async () => {
  const { provider } = createHouse()
  const refusing = {
    ...provider,
    start: async () => {
      throw new Fault('payment_refused', 'the amount is below the least')
    },
  } as PaymentProvider
  expect(await (await createBuyer(refusing)).pay()).toBe('refused')
  const paid = { ...refusing, query: async () => ({ state: 'captured', amount: PRICE, capturedAtMs: 1 }) as const }
  expect(await (await createBuyer(paid)).pay()).toBe('paid')
})
