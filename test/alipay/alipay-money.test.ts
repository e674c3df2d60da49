/** A whole server that is paid through Alipay: whatever its notices do, each order is paid once or its money goes back once. */

import { afterEach, expect, test } from 'bun:test'
import { openAlipayServer } from '../../src/payment/alipay/alipay-server.fixture.ts'
import { toBeijing } from '../../src/payment/alipay/beijing-time.ts'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const PRICE = 199_900
const UNITS = 20

async function open(mode: 'key' | 'certificate') {
  const alipay = await openAlipayServer(mode)
  playground.onUndo(() => alipay.close())
  const env = { PAYMENT_PROVIDERS: 'alipay', ...alipay.settings }
  const stage = await MoneyStage.set(playground, { units: UNITS, payWithinSeconds: 900 }, env)
  /** What the server answers to a notice. */
  const tell = async (body: string) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
    const url = `${stage.site.url()}/api/payments/alipay/callback`
    const answer = await fetch(url, { method: 'POST', body, headers })
    return answer.status === 200 ? answer.text() : answer.status
  }
  const due = (order: { readonly id: string }) =>
    sql(stage.dataDir, 'UPDATE orders SET pay_by = clock_timestamp() WHERE id = $1', [order.id])
  const untilRefunded = (order: { readonly id: string }) =>
    until('the money is back', async () => {
      const { payments } = await stage.till.order(order.id)
      return payments.every(({ state }) => state === 'refunded')
    })
  return { alipay, stage, tell, due, untilRefunded, said: () => stage.site.server().output() }
}

test('lost, double, late, reordered, forged, replayed, truncated and lying notices, and a new certificate in between: paid once, or refunded once', async () => {
  const { alipay, stage, tell, due, untilRefunded, said } = await open('certificate')
  const paid: string[] = []
  for (const callback of ['plain', 'double', 'lost', { lateMs: 700 }] as const) {
    const { order, payUrl } = await stage.billed()
    expect(await alipay.approve(payUrl, callback)).toBe('captured')
    paid.push(order.id)
  }

  // Forged, recorded, truncated, meant for others: refused, and a query finds the money.
  const victim = await stage.billed()
  await alipay.approve(victim.payUrl, 'lost')
  paid.push(victim.order.id)
  const trade = alipay.tradeAt(victim.payUrl)!
  const told = alipay.noticeOf(trade)
  for (const body of [
    told.replace('1999.00', '1999.01'),
    told.slice(0, -30),
    alipay.noticeOf(trade, { notify_time: toBeijing(Date.now() - 3_600_000) }),
    alipay.noticeOf(trade, { app_id: '2021000000000002' }),
    alipay.noticeOf(trade, { seller_id: '2088000000000002' }),
  ])
    expect(await tell(body)).toBe(401)

  // Genuine, and wrong: another amount, another currency, no such payment. None of them pays.
  const liar = await stage.billed()
  const waiting = alipay.visit(liar.payUrl)!
  const success = { trade_status: 'TRADE_SUCCESS' }
  for (const changes of [{ total_amount: '0.01' }, { trans_currency: 'HKD' }, { out_trade_no: '404' }])
    expect(await tell(alipay.noticeOf(waiting, { ...success, ...changes }))).toBe('success')
  expect(await tell(alipay.noticeOf(waiting))).toBe('success')
  await until(
    'the alarms',
    () => said().split('"alarm":"wrong_amount"').length === 3 && said().includes('unknown_payment'),
  )
  expect((await stage.till.order(liar.order.id)).state).toBe('pending')

  // Alipay changes its certificate, and the next notice is the first that has it. An older one, of the open trade, comes after it, twice.
  const older = alipay.noticeOf(waiting)
  alipay.rotate()
  await alipay.approve(liar.payUrl)
  paid.push(liar.order.id)
  await stage.untilState(liar.order, 'paid')
  for (let time = 0; time < 2; time++) expect(await tell(older)).toBe('success')

  // The order closes: a page that was opened ends at Alipay.
  const opened = await stage.billed()
  alipay.visit(opened.payUrl)
  await due(opened.order)
  await stage.untilState(opened.order, 'unpaid')
  await until('the trade is closed', () => alipay.visit(opened.payUrl) === undefined)
  expect(await alipay.approve(opened.payUrl)).toBe('refused')

  // One that nobody had opened can still be paid: all of it goes back, once.
  const unopened = await stage.billed()
  await due(unopened.order)
  await stage.untilState(unopened.order, 'unpaid')
  expect(await alipay.approve(unopened.payUrl, 'double')).toBe('captured')
  await untilRefunded(unopened.order)

  for (const id of paid) await stage.untilState({ id } as never, 'paid')
  const books = [...alipay.books().values()].filter(({ captured }) => captured > 0)
  expect(books.filter(({ refunded }) => refunded === 0)).toHaveLength(paid.length)
  expect(books.filter(({ refunded }) => refunded > 0)).toEqual([{ captured: PRICE, refunded: PRICE }])
  const [audit] = await stage.shop.audit(stage.sale.id)
  expect(audit).toMatchObject({ paid: paid.length, pending: 0, consistent: true })
  expect(said()).not.toMatch(/PRIVATE KEY|159\*|2088/)
}, 300_000)

test('an Alipay that is away while the order closes: the money that arrives all the same goes back, once', async () => {
  const { alipay, stage, due, untilRefunded } = await open('key')
  const { order, payUrl } = await stage.billed()
  const trade = alipay.visit(payUrl)!
  // Nothing can be closed or read at Alipay: the order closes without it.
  alipay.trouble(() => true)
  await due(order)
  await stage.untilState(order, 'unpaid')
  expect(trade.status).toBe('WAIT_BUYER_PAY')
  expect(await alipay.approve(payUrl, 'double')).toBe('captured')
  await until('the refund is due', async () => {
    const { payments } = await stage.till.order(order.id)
    return payments.some(({ state }) => state === 'refund_due')
  })
  // The first refund is done, and its answer lost.
  let lost = 0
  alipay.trouble((method, response) => {
    if (method !== 'alipay.trade.refund' || lost++ > 0) return false
    response.writeHead = () => response
    response.end = () => response.destroy() as never
    return false
  })
  await untilRefunded(order)
  expect(lost).toBeGreaterThan(0)
  expect([...alipay.books().values()]).toEqual([{ captured: PRICE, refunded: PRICE }])
  expect((await stage.shop.audit(stage.sale.id))[0]).toMatchObject({ paid: 0, available: UNITS })
}, 300_000)
