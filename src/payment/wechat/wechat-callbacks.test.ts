/** Callbacks that are forged, replayed, out of order, probes, or genuine and about something else: each has one clear outcome. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import { AMOUNT, openWechatShop, type WechatShop } from './wechat-shop.fixture.ts'

const OPENID = 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o'

let shop: WechatShop
beforeAll(async () => {
  shop = await openWechatShop()
})
afterAll(() => shop.close())

const verify = (sent: { readonly rawBody: Uint8Array; readonly headers: ReadonlyMap<string, string> }, more = {}) =>
  shop.provider.verify(sent.rawBody, new Map([...sent.headers, ...Object.entries<string>(more)]))

describe('a callback about a capture', () => {
  test('says what was captured, for which order and when', async () => {
    const { ref, trade } = await shop.paid()
    const atMs = Math.floor(trade.paidAtMs / 1000) * 1000
    expect(await verify(shop.server.notice(trade))).toMatchObject({ ref, kind: 'captured', amount: AMOUNT, atMs })
  })

  test('that is lost is made up for by a query; double, it is one event', async () => {
    const { ref, payUrl } = await shop.start()
    await shop.server.approve(payUrl, 'double')
    const ofRef = () => shop.listener.deliveries.filter(one => shop.server.refOfNotice(one.rawBody) === ref)
    await until('both callbacks', () => ofRef().length === 2)
    const ids = await Promise.all(ofRef().map(async one => (await verify(one))!.eventId))
    expect(new Set(ids).size).toBe(1)
    const { ref: lost } = await shop.paid()
    expect(await shop.query(lost)).toMatchObject({ state: 'captured', amount: AMOUNT })
  })

  test('with a long or short ref leads back to it', async () => {
    for (const ref of ['7', 'r'.repeat(64)]) {
      const { trade } = await shop.paid({ ref })
      expect(await verify(shop.server.notice(trade))).toMatchObject({ ref, kind: 'captured' })
      expect(await shop.query(ref)).toMatchObject({ state: 'captured' })
    }
  })

  test('tells another amount or currency as it is: the flow refuses it', async () => {
    const { trade } = await shop.paid()
    const amountOf = async (amount: unknown) => (await verify(shop.server.notice(trade, { amount })))?.amount
    expect(await amountOf({ total: 1, currency: 'CNY' })).toEqual({ amount: 1, currency: 'CNY' })
    expect(await amountOf({ total: 199_900, currency: 'USD' })).toEqual({ amount: 199_900, currency: 'USD' })
    for (const broken of [
      { total: 1.5 },
      { total: -1 },
      { total: '199900' },
      { total: 1, currency: 'cny' },
      undefined,
      null,
    ])
      expect(await amountOf(broken)).toBeUndefined()
  })

  test('of another merchant, app or order, or of an order that is not paid, is refused', async () => {
    const { trade } = await shop.paid()
    for (const changes of [
      { mchid: '1900000109' },
      { appid: 'wx0000000000000000' },
      { appid: undefined },
      { out_trade_no: "x' OR 1=1" },
      { out_trade_no: '' },
      { out_trade_no: undefined },
      { trade_state: 'NOTPAY' },
      { trade_state: 'SOMETHING' },
      { success_time: 'yesterday' },
      { success_time: undefined },
    ])
      expect(await verify(shop.server.notice(trade, changes))).toBeUndefined()
    expect(await verify(shop.server.notice(trade))).toBeDefined()
  })

  test('is stale when the clock is six minutes off, either way, and good within five', async () => {
    const { trade } = await shop.paid()
    for (const [ms, good] of [
      [360_000, false],
      [-360_000, false],
      [290_000, true],
      [-290_000, true],
    ] as const) {
      shop.shiftClock(ms)
      expect((await verify(shop.server.notice(trade))) !== undefined).toBe(good)
      shop.shiftClock(-ms)
    }
  })

  test('with a probe signature is refused, and causes no download', async () => {
    const { trade } = await shop.paid()
    // Another serial number would cause one.
    shop.passTime(60_000)
    const downloads = shop.downloads()
    const sent = shop.server.notice(trade)
    const genuine = sent.headers.get('wechatpay-signature')!
    for (const signature of [`WECHATPAY/SIGNTEST/${genuine.slice(19)}`, 'WECHATPAY/SIGNTEST/abc', 'é', ' '])
      expect(
        await verify(sent, { 'wechatpay-signature': signature, 'wechatpay-serial': 'AB'.repeat(20) }),
      ).toBeUndefined()
    expect(await verify(sent, { 'wechatpay-signature': genuine.slice(4) })).toBeUndefined()
    expect(await verify(sent, { 'wechatpay-serial': '../../etc' })).toBeUndefined()
    expect(await verify(sent, { 'wechatpay-timestamp': '1e9' })).toBeUndefined()
    expect(shop.downloads()).toBe(downloads)
  })

  test('that is too large or truncated is refused', async () => {
    const { trade } = await shop.paid()
    const { rawBody, headers } = shop.server.notice(trade)
    const text = Buffer.from(rawBody).toString()
    expect(await verify(shop.server.signer.sign(`${text}${' '.repeat(1_000)}`))).toBeDefined()
    expect(await verify(shop.server.signer.sign(`${text}${' '.repeat(70_000)}`))).toBeUndefined()
    expect(await shop.provider.verify(rawBody.slice(0, rawBody.length / 2), headers)).toBeUndefined()
    for (const text of ['', '{', '[]', 'null', '{"id":"1","event_type":"TRANSACTION.SUCCESS"}'])
      expect(await verify(shop.server.signer.sign(text))).toBeUndefined()
  })
})

describe('a callback about a refund', () => {
  test('before that of its capture says refunded; the capture stays a capture', async () => {
    const { ref, trade } = await shop.paid()
    await shop.refund(ref)
    const refund = [...shop.server.inside.refunds.values()].find(one => one.trade === trade)!
    expect(await verify(shop.server.refundNotice(refund))).toMatchObject({ ref, kind: 'refunded', amount: AMOUNT })
    expect(await verify(shop.server.notice({ ...trade, state: 'SUCCESS' }))).toMatchObject({ ref, kind: 'captured' })
  })

  test('of a part, or of another merchant, changes nothing', async () => {
    const { ref, trade } = await shop.paid()
    await shop.refund(ref, 'p1', 100)
    const refund = [...shop.server.inside.refunds.values()].find(one => one.trade === trade)!
    expect(await verify(shop.server.refundNotice(refund))).toMatchObject({ ref, kind: 'other' })
    expect(await verify(shop.server.refundNotice(refund, { mchid: '1900000109' }))).toBeUndefined()
  })

  test('that did not reach the buyer is acknowledged and logged', async () => {
    const { ref, trade } = await shop.paid()
    await shop.refund(ref)
    const refund = [...shop.server.inside.refunds.values()].find(one => one.trade === trade)!
    for (const status of ['ABNORMAL', 'CLOSED'] as const) {
      expect(await verify(shop.server.refundNotice({ ...refund, status }))).toMatchObject({ ref, kind: 'other' })
      expect(shop.logged.at(-1)).toContain('refund not received by the buyer')
      expect(shop.logged.at(-1)).toContain(status)
    }
  })
})

test('a genuine callback of another kind is acknowledged, and of no interest', async () => {
  const body = { id: 'EV-1', create_time: '2026-01-01T00:00:00+08:00', event_type: 'PAYSCORE.USER_OPEN_SERVICE' }
  const resource = shop.server.signer.seal('{}', 'payscore')
  const sent = shop.server.signer.sign(JSON.stringify({ ...body, resource }))
  expect(await verify(sent)).toMatchObject({ eventId: 'EV-1', ref: '', kind: 'other' })
})

test('a genuine callback that our API v3 key does not decrypt is a fault of ours, and comes again', async () => {
  const { trade } = await shop.paid()
  const sent = shop.server.notice(trade)
  const text = Buffer.from(sent.rawBody)
    .toString()
    .replace(/"nonce":"[^"]{12}"/, '"nonce":"abcdefghijkl"')
  const fault = await verify(shop.server.signer.sign(text)).catch(error => error)
  expect(fault).toBeInstanceOf(Fault)
  expect(fault).toMatchObject({ retryable: true })
  expect(fault.message).toContain('API v3 key')
})

test("the buyer's openid is in no event, log line or fault", async () => {
  const { ref, trade } = await shop.paid({ method: 'native', payer: OPENID })
  const events = [await verify(shop.server.notice(trade)), await shop.query(ref), ...shop.logged]
  shop.server.misbehave = () => ({
    status: 400,
    body: JSON.stringify({ code: 'PARAM_ERROR', message: OPENID, detail: OPENID }),
  })
  const fault = await shop.start({ method: 'jsapi', payer: OPENID }).catch(error => error)
  const badPayer = await shop.start({ method: 'jsapi', payer: `${OPENID}<script>` }).catch(error => error)
  shop.server.misbehave = () => undefined
  expect(fault).toMatchObject({ code: 'payment_refused' })
  expect(badPayer).toMatchObject({ code: 'payment_refused' })
  expect(Bun.inspect([events, fault, badPayer])).not.toContain(OPENID)
})
