import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { OrderAnswer, SaleAnswer } from '../../src/wire/answers.ts'
import { payUrlOf } from '../harness/money.ts'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import type { WireOrder } from '../harness/shop.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let stage: MoneyStage
beforeAll(async () => {
  const env = { PAYMENT_PROVIDERS: 'sandbox', SANDBOX_METHODS: 'page,code' }
  stage = await MoneyStage.set(playground, { units: 100, payWithinSeconds: 900 }, env)
})
afterAll(() => playground.undo())

const pay = (order: WireOrder, body: object) => stage.till.payBy(order, body)
const seen = async (order: WireOrder, query = '') => (await stage.till.own(order, query)) as unknown as OrderAnswer
const house = (order: WireOrder) =>
  sql(stage.dataDir, 'SELECT method, state, ended, pay_url, qr FROM payments WHERE order_id = $1 ORDER BY id', [
    order.id,
  ])

test('a sale tells how it can be paid, and an unknown method or provider is named with those there are', async () => {
  const sale = (await (await fetch(`${stage.site.url()}/api/sales/${stage.sale.id}`)).json()) as SaleAnswer
  const methods = [
    { name: 'page', qr: false },
    { name: 'code', qr: true },
  ]
  expect(sale.payment).toEqual([{ provider: 'sandbox', methods }])
  const order = await stage.order()
  expect(await pay(order, { method: 'card' })).toMatchObject({
    status: 400,
    code: 'body_invalid',
    body: { field: 'method', detail: '"method" of sandbox is one of: page, code.' },
  })
  expect(await pay(order, { provider: 'stripe' })).toMatchObject({
    status: 400,
    body: { field: 'provider', detail: '"provider" is one of: sandbox.' },
  })
  expect((await seen(order)).payment).toBeUndefined()
})

test('what the start returned is stored, shown on the order, and returned again', async () => {
  const order = await stage.order()
  const first = await pay(order, { method: 'code' })
  expect(first.body).toMatchObject({ provider: 'sandbox', method: 'code', qr: payUrlOf(first) })
  const payment = { provider: 'sandbox', method: 'code', state: 'started', qr: payUrlOf(first) }
  expect((await seen(order)).payment).toEqual(payment as never)
  expect((await stage.till.ownOrders(order))[0]?.payment).toEqual(payment as never)
  expect((await pay(order, { method: 'code' })).body).toEqual(first.body)
  expect(await house(order)).toMatchObject([{ method: 'code', state: 'started', pay_url: payUrlOf(first) }])
})

test('another method cancels the open payment first, and only the new one can be paid', async () => {
  const order = await stage.order()
  const code = payUrlOf(await pay(order, { method: 'code' }))
  const page = payUrlOf(await pay(order, { method: 'page' }))
  expect(page).not.toBe(code)
  expect(await house(order)).toMatchObject([
    { method: 'code', state: 'void', ended: 'cancelled' },
    { method: 'page', state: 'started', ended: null },
  ])
  expect((await stage.till.decide(code, 'approve')).status).toBe(409)
  expect((await stage.till.decide(page, 'approve')).status).toBe(200)
  await stage.untilState(order, 'paid')
  await until('it is shown', async () => (await seen(order)).payment?.state === 'captured')
})

test('money that was captured before the change of method pays the order', async () => {
  const order = await stage.order()
  const code = payUrlOf(await pay(order, { method: 'code' }))
  expect((await stage.till.decide(code, 'approve?mode=lost')).status).toBe(200)
  expect((await pay(order, { method: 'page' })).code).toBe('order_paid')
})

test('a decline is on the order at once; after another start the order shows that', async () => {
  const order = await stage.order()
  await stage.till.decide(payUrlOf(await pay(order, {})), 'decline')
  await until('the decline is shown', async () => (await seen(order)).payment?.state === 'declined')
  expect(await house(order)).toMatchObject([{ state: 'void', ended: 'declined' }])
  await pay(order, {})
  expect((await seen(order)).payment?.state).toBe('started')
})

test('a buyer who is back is told what the provider says, though no callback has come', async () => {
  const order = await stage.order()
  await stage.till.decide(payUrlOf(await pay(order, {})), 'approve?mode=lost')
  expect((await seen(order, '?payment=ask')).state).toBe('paid')
  expect(await stage.till.own(order, '?payment=now')).toMatchObject({ code: 'body_invalid', field: 'payment' })
})

test('after its time to pay no payment is begun, and money that is there still pays', async () => {
  const [order, other] = [await stage.order(), await stage.order()]
  const late = payUrlOf(await pay(other, {}))
  await stage.till.decide(late, 'approve?mode=lost')
  const due = "UPDATE orders SET pay_by = clock_timestamp() - interval '1 second' WHERE id = ANY ($1)"
  await sql(stage.dataDir, due, [[order.id, other.id]])
  expect((await pay(order, {})).code).toBe('order_closed')
  expect((await pay(other, {})).code).toBe('order_paid')
})

test('a sale offers the providers it names; a name that is not configured is refused', async () => {
  const wish = { name: 'One', opensAt: '2030-01-01T00:00:00Z', closesAt: '2030-01-02T00:00:00Z' }
  const items = [{ name: 'Cup', units: 1, price: { amount: 5, currency: 'JPY' } }]
  const create = (paymentProviders: readonly string[]) =>
    stage.till.admin('POST', '/sales', { ...wish, items, paymentProviders })
  expect(await create(['paypal'])).toMatchObject({
    status: 400,
    body: {
      field: 'paymentProviders',
      detail: '"paymentProviders": "paypal" is not configured here; there are: sandbox.',
    },
  })
  const { status, body } = await create(['sandbox'])
  expect([status, body.paymentProviders]).toEqual([201, ['sandbox']])
  const edited = await stage.till.admin('PATCH', `/sales/${body.id}`, { paymentProviders: null })
  expect([edited.status, edited.body.paymentProviders]).toEqual([200, undefined])
  expect(await stage.till.admin('PATCH', `/sales/${body.id}`, { paymentProviders: ['x'] })).toMatchObject({
    status: 400,
  })
})

test('a callback that is too large is refused, and so is one that nobody has signed', async () => {
  const callback = (body: string) =>
    fetch(`${stage.site.url()}/api/payments/sandbox/callback`, { method: 'POST', body })
  expect((await callback('x'.repeat(20_000))).status).toBe(413)
  expect((await callback('x'.repeat(10_000))).status).toBe(401)
})
