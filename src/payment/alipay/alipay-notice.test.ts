import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createPublicKey } from 'node:crypto'
import { seededRandom } from '../../base/random.ts'
import { Alipay } from './alipay.ts'
import { openAlipayShop } from './alipay-shop.fixture.ts'
import { trustInKey } from './alipay-trust.ts'
import { toBeijing } from './beijing-time.ts'
import { PUBLISHED_NOTICE } from './test-data/published-vectors.fixture.ts'

const FORM = new Map([['content-type', 'application/x-www-form-urlencoded; charset=utf-8']])
const bytes = (text: string) => new TextEncoder().encode(text)
let shop: Awaited<ReturnType<typeof openAlipayShop>>
let refs = 0
beforeAll(async () => {
  shop = await openAlipayShop('key')
})
afterAll(() => shop.close())

async function capture(callback: 'lost' | 'double' | 'plain' = 'lost') {
  const ref = `n${++refs}`
  const { payUrl } = await shop.start(ref)
  await shop.server.approve(payUrl, callback)
  return shop.server.trade(ref)!
}
const verify = (body: string, headers: { get: (name: string) => string | undefined } = FORM) =>
  shop.provider.verify(bytes(body), headers)

describe('a notice of Alipay', () => {
  test('as Alipay published it passes the check, and not with a word changed', async () => {
    const publicKey = createPublicKey({
      key: Buffer.from(PUBLISHED_NOTICE.publicKey, 'base64'),
      format: 'der',
      type: 'spki',
    })
    const provider = new Alipay({
      name: 'alipay',
      appId: '2019073166072302',
      sellerId: '2088531891668739',
      gateway: 'http://127.0.0.1:9/gateway.do',
      privateKey: publicKey,
      trust: trustInKey(publicKey),
      certificatesEndMs: undefined,
      methods: ['page'],
      publicUrl: () => 'https://shop.example',
      clock: { ...shop.clock, now: () => Date.UTC(2019, 7, 15, 7, 56, 26) },
      random: seededRandom(1),
    })
    const check = (fields: Record<string, string>) =>
      provider.verify(bytes(new URLSearchParams(fields).toString()), FORM)
    expect(await check(PUBLISHED_NOTICE.fields)).toEqual({
      eventId: '2019081500222155624068450559358070',
      ref: '20190815155618536-564-57',
      kind: 'captured',
      amount: { amount: 10, currency: 'CNY' },
      atMs: Date.UTC(2019, 7, 15, 7, 56, 24),
    })
    expect(await check({ ...PUBLISHED_NOTICE.fields, total_amount: '0.11' })).toBeUndefined()
    expect(await check({ ...PUBLISHED_NOTICE.fields, subject: '语雀空间 501人规模' })).toBeUndefined()
  })

  test('says captured, void or refunded; a refund of a part is none of these', async () => {
    const trade = await capture()
    const kindOf = async () => (await verify(shop.server.noticeOf(trade)))?.kind
    expect(await kindOf()).toBe('captured')
    const part = { key: 'p', captured: { amount: 199_900, currency: 'CNY' }, part: { amount: 900, currency: 'CNY' } }
    await shop.provider.refund({ ref: trade.ref }, part, shop.never)
    expect(await kindOf()).toBe('other')
    trade.status = 'TRADE_FINISHED'
    expect(await kindOf()).toBe('other')
    trade.status = 'TRADE_SUCCESS'
    await shop.provider.refund({ ref: trade.ref }, { ...part, key: 'q', part: undefined }, shop.never)
    expect(await kindOf()).toBe('refunded')
    const finished = await capture()
    finished.status = 'TRADE_FINISHED'
    expect((await verify(shop.server.noticeOf(finished)))?.kind).toBe('captured')
    expect((await verify(shop.server.noticeOf(finished, { trade_status: 'WAIT_BUYER_PAY' })))?.kind).toBe('other')
    expect((await verify(shop.server.noticeOf(finished, { trade_status: 'NEW_IN_2030' })))?.kind).toBe('other')
  })

  test('of a wrong amount or currency says what Alipay says: the flow compares', async () => {
    const trade = await capture()
    const amountOf = async (changes: Record<string, string>) =>
      (await verify(shop.server.noticeOf(trade, changes)))?.amount
    expect(await amountOf({ total_amount: '1.00' })).toEqual({ amount: 100, currency: 'CNY' })
    expect(await amountOf({ total_amount: '1999' })).toEqual({ amount: 199_900, currency: 'CNY' })
    expect(await amountOf({ trans_currency: 'HKD' })).toEqual({ amount: 199_900, currency: 'HKD' })
    for (const total_amount of ['', '1999.000', '-1', '1e3', 'NaN', '99999999999999999999'])
      expect(await amountOf({ total_amount })).toBeUndefined()
  })

  test('for another app, account or order is not ours', async () => {
    const trade = await capture()
    expect(await verify(shop.server.noticeOf(trade, { app_id: '2021000000000009' }))).toBeUndefined()
    expect(await verify(shop.server.noticeOf(trade, { seller_id: '2088000000000009' }))).toBeUndefined()
    expect(await verify(shop.server.noticeOf(trade, { out_trade_no: "x' OR 1=1" }))).toBeUndefined()
    expect(await verify(shop.server.noticeOf(trade, { out_trade_no: '' }))).toBeUndefined()
    expect(await verify(shop.server.noticeOf(trade, { notify_id: 'a b' }))).toBeUndefined()
  })

  test('of another service of the account is acknowledged, and of no interest', async () => {
    const trade = await capture()
    const changes = { notify_type: 'servicemarket_order_notify', out_trade_no: '', total_amount: '' }
    expect(await verify(shop.server.noticeOf(trade, changes))).toMatchObject({ kind: 'other', ref: '' })
  })

  test('sent again after minutes and hours is the same event each time; a recording is stale', async () => {
    const trade = await capture()
    const first = shop.server.noticeOf(trade, { notify_id: 'ab12' })
    const firstEvent = await verify(first)
    for (const minutes of [4, 14, 24, 84, 204, 564, 1_464]) {
      shop.shiftClock(minutes * 60_000)
      const again = shop.server.noticeOf(trade, { notify_id: 'ab12', notify_time: toBeijing(shop.clock.now()) })
      expect(await verify(again)).toEqual(firstEvent!)
      if (minutes > 30) expect(await verify(first)).toBeUndefined()
      shop.shiftClock(-minutes * 60_000)
    }
  })

  test('is taken while our clock is six minutes off, in either direction', async () => {
    const trade = await capture()
    for (const ms of [360_000, -360_000]) {
      shop.shiftClock(ms)
      expect(await verify(shop.server.noticeOf(trade))).toMatchObject({
        kind: 'captured',
        atMs: Math.floor(trade.paidMs! / 1_000) * 1_000,
      })
      shop.shiftClock(-ms)
    }
  })

  test('truncated anywhere, or joined with another, is forged', async () => {
    const body = shop.server.noticeOf(await capture())
    for (let length = 0; length < body.length; length++) expect(await verify(body.slice(0, length))).toBeUndefined()
    for (const joined of [
      `${body}&${body}`,
      `${body}&`,
      `&${body}`,
      `${body}&total_amount=1.00`,
      `${body}&x=1`,
      `${body}\n`,
    ])
      expect(await verify(joined)).toBeUndefined()
  })

  test('in another form, with a weaker signature or none, is forged', async () => {
    const body = shop.server.noticeOf(await capture())
    expect(await verify(body, new Map([['content-type', 'application/json']]))).toBeUndefined()
    expect(await verify(body, new Map([['content-type', 'APPLICATION/X-WWW-FORM-URLENCODED']]))).toBeDefined()
    expect(await verify(body.replace('sign_type=RSA2', 'sign_type=RSA'))).toBeUndefined()
    expect(await verify(body.replace('&sign_type=RSA2', ''))).toBeUndefined()
    expect(await verify(body.replace(/&sign=[^&]*/, ''))).toBeUndefined()
    expect(await verify(body.replace(/&sign=[^&]*/, '&sign='))).toBeUndefined()
    expect(await verify(body.replace(/%E6/, '%GG'))).toBeUndefined()
    const fields = Array.from({ length: 200 }, (_, n) => `f${n}=1`).join('&')
    expect(await verify(`${fields}&${body}`)).toBeUndefined()
  })

  test('comes twice at once, or not at all: it is the same event, and the query tells the rest', async () => {
    const twice = await capture('double')
    const { length } = shop.listener.deliveries.filter(one => Buffer.from(one.rawBody).includes(`=${twice.ref}&`))
    expect(length).toBe(2)
    const lost = await capture('lost')
    expect(await shop.provider.query({ ref: lost.ref }, shop.never)).toMatchObject({ state: 'captured' })
  })

  test('is repeated by Alipay until the answer is the exact text', async () => {
    expect(shop.provider.acknowledgement.body).toBe('success')
    shop.listener.answerWith(
      { status: 200, body: 'success\n' },
      { status: 500, body: 'success' },
      { status: 200, body: 'success' },
    )
    const trade = await capture('plain')
    const of = () => shop.listener.deliveries.filter(one => Buffer.from(one.rawBody).includes(`=${trade.ref}&`))
    let seen = 0
    await shop.received(trade.ref, () => ++seen > 0 && of().length === 3)
    const ids = await Promise.all(
      of().map(async one => (await shop.provider.verify(one.rawBody, one.headers))!.eventId),
    )
    expect(new Set(ids).size).toBe(1)
  })
})

describe('certificates in notices', () => {
  test('the number may be signed or not: clients of Alipay differ', async () => {
    const other = await openAlipayShop('certificate')
    const { payUrl } = await other.start('c')
    await other.server.approve(payUrl, 'lost')
    const trade = other.server.trade('c')!
    const serial = other.server.shop().config.alipayCertSn
    const signed = other.server.noticeOf(trade)
    expect(signed).toContain(`alipay_cert_sn=${serial}`)
    expect(await other.provider.verify(bytes(signed), FORM)).toBeDefined()
    const without = other.server.noticeOf(trade, {}, 'alipay_cert_sn')
    expect(await other.provider.verify(bytes(without), FORM)).toBeDefined()
    expect(await other.provider.verify(bytes(`${without}&alipay_cert_sn=${serial}`), FORM)).toBeDefined()
    await other.close()
  })
})
