/** A whole server that is paid through WeChat Pay: whatever its callbacks do, each order is paid once or its money goes back once. */

import { afterEach, expect, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { openWechatServer } from '../../src/payment/wechat/wechat-server.fixture.ts'
import { sql } from '../harness/money-books.ts'
import { MoneyStage } from '../harness/money-stage.ts'
import { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const PRICE = 199_900
const UNITS = 20

/** The account has a name of its own, as a second one has. */
async function open(signsWith: 'certificate' | 'public key') {
  const wechat = await openWechatServer(signsWith, 'wechat.two')
  playground.onUndo(() => wechat.close())
  const env = { PAYMENT_PROVIDERS: 'wechat.two', ...wechat.settings }
  const stage = await MoneyStage.set(playground, { units: UNITS, payWithinSeconds: 900 }, env)
  /** What the server answers to a callback. */
  const tell = async (sent: { readonly rawBody: Uint8Array; readonly headers: ReadonlyMap<string, string> }) => {
    const url = `${stage.site.url()}/api/payments/wechat.two/callback`
    const body = Buffer.from(sent.rawBody)
    return (await fetch(url, { method: 'POST', body, headers: Object.fromEntries(sent.headers) })).status
  }
  const due = (order: { readonly id: string }) =>
    sql(stage.dataDir, 'UPDATE orders SET pay_by = clock_timestamp() WHERE id = $1', [order.id])
  return { wechat, stage, tell, due, said: () => stage.site.server().output() }
}

test('lost, double, late, forged, replayed, truncated and lying callbacks, and a new certificate in between: paid once, or closed', async () => {
  const { wechat, stage, tell, due, said } = await open('certificate')
  const paid: string[] = []
  for (const callback of ['plain', 'double', 'lost', { lateMs: 700 }] as const) {
    const { order, payUrl } = await stage.billed()
    expect(await wechat.approve(payUrl, callback)).toBe('captured')
    paid.push(order.id)
  }

  // Forged, recorded, truncated, a probe, meant for others: refused, and a query finds the money.
  const victim = await stage.billed()
  await wechat.approve(victim.payUrl, 'lost')
  paid.push(victim.order.id)
  const trade = wechat.inside.tradeOf(victim.payUrl)
  const told = wechat.notice(trade)
  const text = Buffer.from(told.rawBody).toString()
  const probe = new Map([...told.headers, ['wechatpay-signature', `WECHATPAY/SIGNTEST/${'A'.repeat(300)}`]])
  for (const forged of [
    { ...told, rawBody: Buffer.from(text.replace('成功', '失败')) },
    { ...told, rawBody: told.rawBody.slice(0, -30) },
    { ...told, headers: probe },
    wechat.signer.sign(text, 'certificate', Date.now() - 360_000),
    wechat.notice(trade, { mchid: '1900000109' }),
    wechat.notice(trade, { appid: 'wx0000000000000000' }),
  ])
    expect(await tell(forged)).toBe(401)

  // Genuine, and wrong: another amount, another currency, no such payment. None of them pays.
  const liar = await stage.billed()
  const waiting = { ...wechat.inside.tradeOf(liar.payUrl), state: 'SUCCESS' as const, paidAtMs: Date.now() }
  for (const changes of [
    { amount: { total: 1, currency: 'CNY' } },
    { amount: { total: PRICE, currency: 'HKD' } },
    { out_trade_no: '404404404' },
  ])
    expect(await tell(wechat.notice(waiting, changes))).toBe(200)
  const alarms = () => said().split('"alarm":"wrong_amount"').length === 3 && said().includes('unknown_payment')
  await until('the alarms', alarms)
  expect((await stage.till.order(liar.order.id)).state).toBe('pending')

  // The certificate is replaced, and the next callback is the first that has it: that, or the next answer, has the new one downloaded.
  wechat.signer.addCertificate()
  await wechat.approve(liar.payUrl)
  paid.push(liar.order.id)
  await stage.untilState(liar.order, 'paid')

  // The order closes: the code ends at WeChat Pay.
  const closed = await stage.billed()
  await due(closed.order)
  await stage.untilState(closed.order, 'unpaid')
  await until('the order is closed there', () => wechat.inside.tradeOf(closed.payUrl).state === 'CLOSED')
  expect(await wechat.approve(closed.payUrl)).toBe('refused')

  for (const id of paid) await stage.untilState({ id } as never, 'paid')
  // Played back within five minutes it is genuine, and changes nothing.
  for (let time = 0; time < 2; time++) expect(await tell(told)).toBe(200)
  const books = [...wechat.books().values()].filter(({ captured }) => captured > 0)
  expect(books).toEqual(paid.map(() => ({ captured: PRICE, refunded: 0 })))
  const [audit] = await stage.shop.audit(stage.sale.id)
  expect(audit).toMatchObject({ paid: paid.length, pending: 0, consistent: true })
  expect(said()).not.toMatch(/PRIVATE KEY|oUpF8/)
  expect(said()).not.toContain(wechat.signer.apiV3Key)
}, 300_000)

test('a WeChat Pay that is away while the order closes: the money that arrives all the same goes back, once', async () => {
  const { wechat, stage, due } = await open('public key')
  const { order, payUrl } = await stage.billed()
  wechat.misbehave = () => 'reset'
  await due(order)
  await stage.untilState(order, 'unpaid')
  expect(await wechat.approve(payUrl, 'double')).toBe('captured')
  const states = async () => (await stage.till.order(order.id)).payments.map(({ state }) => state)
  await until('the refund is due', async () => (await states()).includes('refund_due'))
  // The first refund is done and its answer lost; then it is on its way, and at last it has arrived.
  wechat.inside.refundStatus = 'PROCESSING'
  let lost = 0
  wechat.misbehave = (method, path, body) => {
    if (method !== 'POST' || !path.endsWith('/refunds') || lost++ > 0) return undefined
    wechat.inside.refund(JSON.parse(body))
    return 'reset'
  }
  const asked = () => wechat.requests.some(one => one.startsWith('GET /v3/refund/'))
  await until('the refund is asked about', asked)
  const [refund] = [...wechat.inside.refunds.values()]
  wechat.endRefund(refund!.no, 'SUCCESS')
  await until('the money is back', async () => (await states()).every(state => state === 'refunded'))
  expect(wechat.inside.refunds.size).toBe(1)
  expect([...wechat.books().values()]).toEqual([{ captured: PRICE, refunded: PRICE }])
  expect((await stage.shop.audit(stage.sale.id))[0]).toMatchObject({ paid: 0, available: UNITS })
}, 300_000)

test('a sale in a currency that WeChat Pay does not take is not published, and the answer says which', async () => {
  const { stage } = await open('certificate')
  const opensAtMs = systemClock.now() + 3_600_000
  const wish = {
    name: 'In euros',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 1_000),
    items: [{ name: 'Kettle', price: { amount: 100, currency: 'EUR' }, units: 1 }],
  }
  const sale = (await stage.till.operator('POST', '/sales', wish)) as unknown as { id: string }
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const answer = await fetch(`${stage.site.url()}/api/admin/sales/${sale.id}/publish`, { method: 'POST', headers })
  expect(answer.status).toBe(422)
  const problem = (await answer.json()) as { code: string; detail: string }
  expect(problem.code).toBe('currency_not_taken')
  expect(problem.detail).toContain('EUR')
}, 300_000)
