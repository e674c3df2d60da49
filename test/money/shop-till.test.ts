/** A shop that takes the money itself, with a till of its own: what it reports counts once, and what pays nothing goes back. */

import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { openShopTill } from '../../src/payment/shop/shop-till.fixture.ts'
import { assertDescribed } from '../harness/described.ts'
import type { WholeOrder } from '../harness/money.ts'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import type { WireOrder } from '../harness/shop.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const ITEM = { units: 40, payWithinSeconds: 900 }
const AMOUNT = { amount: 199_900, currency: 'CNY' }
const CAPTURES = '/api/payments/shop/captures'
const REFUNDS = '/api/payments/shop/refunds'

const playground = new Playground()
afterEach(() => playground.undo())

/** @param readsFeed the till gives money back when it is told of it */
async function setStage(readsFeed: boolean, env: Record<string, string> = {}) {
  const till = await openShopTill(readsFeed ? { operatorToken: ADMIN_TOKEN } : {})
  playground.onUndo(() => till.close())
  const stage = await MoneyStage.set(playground, ITEM, { PAYMENT_PROVIDERS: 'shop', ...till.settings, ...env })
  const follow = () => till.callBackTo?.(stage.site.url())
  follow()
  const capture = (order: WireOrder, reference: string, amount = AMOUNT) =>
    till.send(CAPTURES, { order: order.id, reference, amount })
  const refund = (order: WireOrder, reference: string, refundReference = 'CN-1') =>
    till.send(REFUNDS, { order: order.id, reference, refundReference })
  const metric = async (name: string) => {
    const response = await fetch(`${stage.site.url()}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await response.text())?.[1] ?? 0)
  }
  return { stage, till, follow, capture, refund, metric }
}

const paymentsOf = ({ payments }: WholeOrder) =>
  payments.map(({ ref, state, why }) => [ref, state, why ?? ''].join(' ').trim())

test('a buyer is sent to the till and pays there, or pays in the app without our knowing: the report pays the order, once', async () => {
  const { stage, till, capture, refund } = await setStage(false)
  const { order, payUrl } = await stage.billed()
  expect(payUrl).toStartWith(`${till.page}?order=${order.id}&ref=`)
  expect(await till.approve(payUrl, 'double')).toBe('captured')
  const whole = await stage.untilState(order, 'paid')
  expect(paymentsOf(whole)).toEqual([`INV-${new URL(payUrl).searchParams.get('ref')} captured`])
  expect(await till.approve(payUrl.replace('amount=199900', 'amount=1')), 'the address is signed').toBe('refused')

  const second = await stage.order()
  for (let time = 0; time < 2; time++)
    expect(await capture(second, 'APP-1')).toMatchObject({ status: 200, body: { id: second.id, state: 'paid' } })
  expect(paymentsOf(await stage.till.order(second.id))).toEqual(['APP-1 captured'])
  expect(await refund(second, 'APP-1')).toMatchObject({ status: 409, body: { code: 'refund_not_due' } })
  expect((await stage.till.pay(second)).code).toBe('order_paid')
}, 300_000)

test('money that pays nothing goes back once: late, second and refunded by an operator; the till hears of it in the feed', async () => {
  const { stage, till, capture, refund } = await setStage(true)
  const { order: late, payUrl } = await stage.billed()
  expect((await stage.till.cancel(late)).status).toBe(200)
  expect(paymentsOf(await stage.till.order(late.id))).toEqual([`${new URL(payUrl).searchParams.get('ref')} void`])
  expect(await till.approve(payUrl)).toBe('captured')
  const ref = new URL(payUrl).searchParams.get('ref') ?? ''
  await until('the late money is back', async () => till.books().get(ref)?.refunded === AMOUNT.amount)
  const refunded = async (order: WireOrder, at: number) =>
    (await stage.till.order(order.id)).payments[at]?.state === 'refunded'
  await until('the ledger knows', () => refunded(late, 1))
  expect(await capture(late, `INV-${ref}`)).toMatchObject({
    status: 409,
    body: { code: 'order_closed', refundDue: false },
  })

  const { order, payUrl: page } = await stage.billed()
  expect(await till.approve(page)).toBe('captured')
  for (let time = 0; time < 2; time++)
    expect(await capture(order, 'TWICE')).toMatchObject({ status: 409, body: { code: 'order_paid', refundDue: true } })
  // The till of the tests does not know this money: it is reported by hand.
  expect(await refund(order, 'TWICE')).toMatchObject({ status: 200, body: { state: 'refunded', amount: AMOUNT } })
  expect(await capture(order, 'TWICE')).toMatchObject({ status: 409, body: { code: 'order_paid', refundDue: false } })

  expect((await stage.till.refundPart(order.id, 900, 'first-part')).status).toBe(200)
  await until('the ledger knows of the part', async () => {
    const [part] = await sql(stage.dataDir, 'SELECT state, refund_ref FROM refund_parts WHERE order_id = $1', [
      order.id,
    ])
    return part?.state === 'refunded' && String(part.refund_ref).startsWith('CN-')
  })
  expect((await stage.till.refund(order.id, true)).status).toBe(200)
  const bought = new URL(page).searchParams.get('ref') ?? ''
  await until('the operator’s refund is back', async () => till.books().get(bought)?.refunded === AMOUNT.amount)
  await until('the ledger knows', () => refunded(order, 0))
  expect([...till.books().values()].filter(entry => entry.captured !== entry.refunded)).toEqual([])
  expect((await stage.shop.audit(stage.sale.id))[0]).toMatchObject({ available: ITEM.units, paid: 0, consistent: true })
  expect(await stage.till.reconcile(stage.sale.id)).toEqual({ differences: [], repairs: [] })
}, 300_000)

test('what does not fit is a clear error that changes nothing: forged, of a wrong amount, order, reference or shape', async () => {
  const { stage, till, capture, refund, metric } = await setStage(false)
  const [order, other] = [await stage.order(), await stage.order()]
  const code = ({ status, body }: { status: number; body: Readonly<Record<string, unknown>> }) =>
    `${status} ${body.code}`
  const body = { order: order.id, reference: 'INV-1', amount: AMOUNT }
  for (const off of [-310, 310]) {
    const t = Math.floor(systemClock.now() / 1000) + off
    expect(code(await till.send(CAPTURES, body, t)), `a clock ${off} s off`).toBe('401 signature_invalid')
  }
  const raw = async (path: string, text: string, headers: Record<string, string> = {}) => {
    const response = await fetch(stage.site.url() + path, { method: 'POST', headers, body: text })
    const said = await response.text()
    assertDescribed('POST', path, response.status, response.headers, said)
    return `${response.status} ${JSON.parse(said).code}`
  }
  expect(await raw(CAPTURES, JSON.stringify(body))).toBe('401 signature_invalid')
  expect(await raw(REFUNDS, '{}', { 'stampede-signature': 't=1,v1=00' })).toBe('401 signature_invalid')
  expect(await raw(CAPTURES, 'x'.repeat(20_000))).toBe('413 body_too_large')
  expect(await raw('/api/payments/shop/callback', JSON.stringify(body)), 'it has no callback').toBe('404 not_found')
  expect(await metric('stampede_payment_callbacks_forged_total')).toBe(4)

  expect(await till.send(CAPTURES, { ...body, amount: { amount: 1999, currency: 'CNY' } })).toMatchObject({
    status: 422,
    body: { code: 'amount_mismatch', expected: AMOUNT },
  })
  expect(await metric('stampede_alarms_total\\{kind="wrong_amount"\\}')).toBe(1)
  expect(await till.send(CAPTURES, { ...body, amount: 199_900 })).toMatchObject({
    status: 400,
    body: { field: 'amount' },
  })
  expect(await till.send(CAPTURES, { ...body, more: 1 })).toMatchObject({ status: 400, body: { field: 'more' } })
  expect(await till.send(REFUNDS, body)).toMatchObject({ status: 400, body: { code: 'body_invalid' } })
  expect(code(await till.send(CAPTURES, { ...body, reference: 'a b' }))).toBe('400 body_invalid')
  expect(code(await till.send(CAPTURES, { ...body, order: '4711' }))).toBe('404 not_found')
  expect(await stage.till.order(order.id)).toMatchObject({ state: 'pending', payments: [] })

  expect((await till.send(CAPTURES, body)).status).toBe(200)
  expect(code(await capture(other, 'INV-1'))).toBe('409 reference_used')
  expect(code(await refund(other, 'INV-1'))).toBe('409 reference_used')
  expect(code(await refund(order, 'INV-2'))).toBe('404 not_found')
  await stage.till.refund(order.id, true)
  expect((await refund(order, 'INV-1')).status).toBe(200)
  expect(code(await refund(order, 'INV-1', 'CN-2'))).toBe('409 reference_used')
  expect((await refund(order, 'INV-1')).status, 'the first one again').toBe(200)
  expect(await stage.till.order(other.id)).toMatchObject({ state: 'pending', payments: [] })
}, 300_000)

test('without SHOP_PAY_URL no payment is started here, and what the app took is reported all the same', async () => {
  const { stage, capture } = await setStage(false, { SHOP_PAY_URL: '' })
  const order = await stage.order()
  expect((await stage.till.pay(order)).code).toBe('no_payment_provider')
  expect(await capture(order, 'APP-1')).toMatchObject({ status: 200, body: { state: 'paid' } })
}, 300_000)

test('kill -9 before and after the capture: the till repeats its report, and the order is paid once', async () => {
  const { stage, till, follow } = await setStage(false)
  for (const point of ['pay.before', 'pay.after']) {
    const { site } = stage
    await site.server().kill()
    await site.startAgain(`${point}=kill`)
    follow()
    const { order, payUrl } = await stage.billed()
    const approving = till.approve(payUrl, 'double')
    expect(await site.server().exited).toEqual({ code: null, signal: 'SIGKILL' })
    await site.startAgain('')
    follow()
    await approving
    const whole = await stage.till.order(order.id)
    expect([whole.state, whole.payments.map(({ state }) => state)], point).toEqual(['paid', ['captured']])
  }
}, 300_000)

test('a refund that the shop does not report is no noise, and a trouble after a day', async () => {
  const { stage, capture, refund } = await setStage(false)
  const order = await stage.order()
  expect((await stage.till.cancel(order)).status).toBe(200)
  expect((await capture(order, 'LATE')).status).toBe(409)
  const trouble = async () => {
    const { trouble: found } = (await stage.till.operator('GET', '/trouble')) as unknown as {
      readonly trouble: readonly { readonly code: string; readonly which?: string; readonly count?: number }[]
    }
    return found
  }
  const age = (by: string) =>
    sql(stage.dataDir, `UPDATE payments SET next_try_at = clock_timestamp() - interval '${by}' WHERE ref = 'LATE'`)
  await age('23 hours')
  // A provider that is asked would have been tried by now: another payment of the same round was.
  const { order: started } = await stage.billed()
  await sql(stage.dataDir, 'UPDATE payments SET next_try_at = clock_timestamp() WHERE order_id = $1', [started.id])
  await until('a round of the keeper', async () => {
    const [row] = await sql(stage.dataDir, 'SELECT tries FROM payments WHERE order_id = $1', [started.id])
    return Number(row?.tries) > 0
  })
  expect(await sql(stage.dataDir, "SELECT tries, state FROM payments WHERE ref = 'LATE'")).toEqual([
    { tries: 0, state: 'refund_due' },
  ])
  expect(await trouble()).toEqual([])

  await age('25 hours')
  await until('the trouble', async () => (await trouble()).some(({ code }) => code === 'refunds_unconfirmed'))
  expect(await trouble()).toMatchObject([{ code: 'refunds_unconfirmed', which: 'shop', count: 1 }])
  expect((await refund(order, 'LATE')).status).toBe(200)
  await until('no trouble any more', async () => (await trouble()).length === 0)
  expect(
    stage.site
      .server()
      .output()
      .split('\n')
      .filter(line => line.startsWith('{')),
  ).toEqual([])
}, 300_000)
