/** What is sent to WeChat Pay, and what follows from each answer: errors, refusals, silence, answers that are not its own. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { Rsa } from 'wechatpay-axios-plugin'
import type { Fault } from '../../base/fault.ts'
import { openWechatShop, patient, type WechatShop } from './wechat-shop.fixture.ts'
import { rsaPair } from './wechat-signer.fixture.ts'

const OPENID = 'oUpF8uMuAJO_M2pxb1Q9zNjWeS6o'

let shop: WechatShop
beforeAll(async () => {
  shop = await openWechatShop()
})
afterEach(() => {
  shop.server.misbehave = () => undefined
  shop.server.tamper = () => undefined
})
afterAll(() => shop.close())

const faultOf = (call: Promise<unknown>): Promise<Fault> =>
  call.then(
    () => {
      throw new Error('there was no fault')
    },
    error => error,
  )
const lastBody = () => JSON.parse(shop.server.bodies.findLast(body => body !== '')!)
const answerWith = (status: number, body: object | string) => {
  shop.server.misbehave = () => ({ status, body: typeof body === 'string' ? body : JSON.stringify(body) })
}

describe('start', () => {
  test('native: a code to scan, with the order as the documents ask', async () => {
    const { payUrl, qr } = await shop.start({
      ref: '7299384756102938475',
      description: `${'手机'.repeat(60)}!`,
      payByMs: Date.parse('2026-11-18T16:00:00.900Z'),
    })
    expect([payUrl, qr]).toEqual([expect.stringContaining('weixin://'), payUrl])
    expect(lastBody()).toEqual({
      appid: 'wx8888888888888888',
      mchid: '1900007291',
      description: '手机'.repeat(21),
      out_trade_no: '7299384756102938475',
      time_expire: '2026-11-19T00:00:00+08:00',
      attach: '7299384756102938475',
      notify_url: shop.listener.url,
      amount: { total: 199_900, currency: 'CNY' },
    })
  })

  test('h5: a page for phones that leads back to the shop', async () => {
    const back = await shop.start({ method: 'h5', address: '203.0.113.7', returnUrl: '/orders/1?a=b' })
    expect(lastBody().scene_info).toEqual({ payer_client_ip: '203.0.113.7', h5_info: { type: 'Wap' } })
    expect(back.qr).toBeUndefined()
    expect(new URL(back.payUrl).searchParams.get('redirect_url')).toBe('https://shop.example/orders/1?a=b')
    const refused = await shop.start({ method: 'h5', address: '203.0.113.7', returnUrl: 'javascript:alert(1)' })
    expect(refused.payUrl).not.toContain('redirect_url')
    expect(await faultOf(shop.start({ method: 'h5' }))).toMatchObject({ code: 'payment_refused', retryable: false })
  })

  test('jsapi: parameters for the script, signed with the key of the merchant', async () => {
    const { payUrl, client } = await shop.start({ method: 'jsapi', payer: OPENID })
    expect(lastBody().payer).toEqual({ openid: OPENID })
    expect(payUrl).toBe('')
    const { appId, timeStamp, nonceStr, package: bundle, signType, paySign } = client!
    expect(signType).toBe('RSA')
    expect(bundle).toMatch(/^prepay_id=.+/)
    expect(Rsa.verify(`${appId}\n${timeStamp}\n${nonceStr}\n${bundle}\n`, paySign!, rsaPair(0).publicKey)).toBe(true)
    expect(await shop.server.approve(bundle!, 'lost')).toBe('captured')
    for (const payer of [undefined, '', 'a b', '"'])
      expect(await faultOf(shop.start({ method: 'jsapi', payer }))).toMatchObject({ code: 'payment_refused' })
  })

  test('sent again is the same order, in one way to pay and until one moment; another way or amount is refused', async () => {
    const { request } = await shop.start()
    const { payUrl } = await shop.start(request)
    expect(shop.server.inside.tradeOf(payUrl).codes).toHaveLength(2)
    for (const other of [{ method: 'h5', address: '::1' }, { amount: { amount: 1, currency: 'CNY' } }])
      expect(await faultOf(shop.start({ ...request, ...other }))).toMatchObject({
        code: 'payment_refused',
        retryable: false,
      })
    expect(await faultOf(shop.start({ ...request, method: 'nfc' }))).toMatchObject({ code: 'payment_refused' })
  })

  test('near pay_by expires with the order, at least a minute later', async () => {
    const { payUrl } = await shop.start({ payByMs: shop.clock.now() + 5_000 })
    const trade = shop.server.inside.tradeOf(payUrl)
    expect(trade.endsAtMs - shop.clock.now()).toBeWithin(1, 60_001)
    shop.server.shiftClock(61_000)
    expect(await shop.server.approve(payUrl)).toBe('refused')
    shop.server.shiftClock(-61_000)
  })
})

describe('an order', () => {
  test('in each state of WeChat Pay has one in ours', async () => {
    const { ref, payUrl } = await shop.start()
    const trade = shop.server.inside.tradeOf(payUrl)
    for (const [theirs, ours] of [
      ['NOTPAY', { state: 'open' }],
      ['USERPAYING', { state: 'open' }],
      ['PAYERROR', { state: 'open', declined: true }],
      ['CLOSED', { state: 'void' }],
    ] as const) {
      trade.state = theirs
      expect(await shop.query(ref)).toEqual(ours)
    }
  })

  test('that the buyer is paying right now is not void: the close is tried again', async () => {
    const { ref, payUrl } = await shop.start()
    shop.server.inside.tradeOf(payUrl).state = 'USERPAYING'
    expect(await faultOf(shop.cancel(ref))).toMatchObject({ code: 'payment_unreachable', retryable: true })
  })

  test('described otherwise than the documents do is a fault, not a guess', async () => {
    const { ref, trade } = await shop.paid()
    const described = { ...trade }
    for (const [field, value] of [
      ['out_trade_no', '7000000000000000999'],
      ['mchid', '1900000109'],
      ['appid', 'wx0000000000000000'],
      ['total', -1],
    ] as const) {
      Object.assign(trade, { [field]: value })
      shop.server.inside.trades.set(described.out_trade_no, trade)
      expect(await faultOf(shop.query(ref))).toMatchObject({ code: 'payment_unreachable', retryable: true })
      Object.assign(trade, described)
    }
    expect(await shop.query(ref)).toMatchObject({ state: 'captured' })
  })
})

describe('a refund', () => {
  test('that takes time is pending, and refunded once WeChat Pay says so', async () => {
    const { ref, trade } = await shop.paid()
    shop.server.inside.refundStatus = 'PROCESSING'
    const sent = () => shop.server.requests.filter(one => one === 'POST /v3/refund/domestic/refunds').length
    const before = sent()
    expect(await shop.refund(ref)).toEqual({ state: 'pending' })
    expect(await shop.refund(ref)).toEqual({ state: 'pending' })
    expect(await shop.query(ref)).toMatchObject({ state: 'captured' })
    // Once it is sent, it is asked about.
    expect(sent()).toBe(before + 1)
    shop.server.inside.refundStatus = 'SUCCESS'
    const [refund] = [...shop.server.inside.refunds.values()].filter(one => one.trade === trade)
    shop.server.endRefund(refund!.no, 'SUCCESS')
    expect(await shop.refund(ref)).toEqual({ state: 'refunded' })
    expect(await shop.query(ref)).toMatchObject({ state: 'refunded' })
    expect(shop.server.inside.refunded(trade)).toBe(199_900)
  })

  test("that the buyer's bank does not take waits for a person; one that was closed is sent again", async () => {
    const { ref, trade } = await shop.paid()
    shop.server.inside.refundStatus = 'ABNORMAL'
    for (let n = 0; n < 2; n++) expect(await faultOf(shop.refund(ref))).toMatchObject({ code: 'payment_refused' })
    const [refund] = [...shop.server.inside.refunds.values()].filter(one => one.trade === trade)
    refund!.status = 'CLOSED'
    shop.server.inside.refundStatus = 'SUCCESS'
    expect(await shop.refund(ref)).toEqual({ state: 'refunded' })
    expect(shop.server.inside.refunded(trade)).toBe(199_900)
  })

  test('is of what was captured, also if that is not what was asked for', async () => {
    const { ref, trade } = await shop.paid()
    trade.total = 150_000
    expect(await shop.refund(ref)).toEqual({ state: 'refunded' })
    expect(shop.server.inside.refunded(trade)).toBe(150_000)
  })

  test('made in the merchant platform leaves nothing to refund', async () => {
    const { ref, trade } = await shop.paid()
    const amount = { refund: 199_900, total: 199_900, currency: 'CNY' }
    shop.server.inside.refund({ out_trade_no: trade.out_trade_no, out_refund_no: 'by-hand', amount })
    expect(await shop.refund(ref)).toEqual({ state: 'refunded' })
    expect(shop.server.inside.refunded(trade)).toBe(199_900)
  })

  test('whose answer was lost is the same refund when it is sent again', async () => {
    const { ref, trade } = await shop.paid()
    shop.server.tamper = headers => headers.clear()
    expect(await faultOf(shop.refund(ref))).toMatchObject({ retryable: true })
    shop.server.tamper = () => undefined
    shop.server.misbehave = (method, path, body) => {
      if (method === 'POST') shop.server.inside.refund(JSON.parse(body))
      return method === 'POST' && path.endsWith('refunds') ? 'reset' : undefined
    }
    expect(await faultOf(shop.refund(ref))).toMatchObject({ retryable: true, outcomeUnknown: true })
    shop.server.misbehave = () => undefined
    expect(await shop.refund(ref)).toEqual({ state: 'refunded' })
    expect(shop.server.inside.refunded(trade)).toBe(199_900)
  })
})

describe('an error', () => {
  for (const [code, status] of [
    ['SYSTEM_ERROR', 500],
    ['FREQUENCY_LIMITED', 429],
    ['BIZERR_NEED_RETRY', 400],
    ['SOMETHING_NEW', 503],
    ['SOMETHING_NEW', 429],
  ] as const)
    test(`${status} ${code} may pass: the same call is tried again`, async () => {
      const { ref } = await shop.start()
      answerWith(status, { code, message: '' })
      const calls = [shop.start(), shop.query(ref), shop.cancel(ref), shop.refund(ref)]
      for (const fault of await Promise.all(calls.map(faultOf)))
        expect(fault).toMatchObject({ code: 'payment_unreachable', retryable: true })
    })

  for (const [code, status, hint] of [
    ['SIGN_ERROR', 401, 'WECHAT_PRIVATE_KEY'],
    ['NO_AUTH', 403, 'WECHAT_METHODS'],
    ['NOT_ENOUGH', 403, 'top it up'],
    ['OUT_TRADE_NO_USED', 403, 'another amount'],
    ['APPID_MCHID_NOT_MATCH', 400, 'WECHAT_APP_ID'],
    ['SOMETHING_NEW', 400, 'documents'],
  ] as const)
    test(`${status} ${code} is a refusal that says what to do`, async () => {
      const request = shop.requestOf()
      answerWith(status, { code, message: 'x' })
      const calls = [shop.provider.start(request, patient), shop.query(request.ref), shop.cancel(request.ref)]
      for (const fault of await Promise.all(calls.map(faultOf))) {
        expect(fault).toMatchObject({ code: 'payment_refused', retryable: false })
        expect(fault.message).toContain(hint)
      }
    })

  test('page of something in between says nothing about the order', async () => {
    for (const [status, body] of [
      [404, '<html>not found</html>'],
      [400, '{"code":{}}'],
      [502, ''],
      [301, ''],
    ] as const) {
      answerWith(status, body)
      expect(await faultOf(shop.query('7000000001'))).toMatchObject({ code: 'payment_unreachable', retryable: true })
    }
  })

  test('ORDER_CLOSED and ORDER_NOT_EXIST at the close of an order: it is void', async () => {
    for (const code of ['ORDER_CLOSED', 'ORDERCLOSED', 'ORDER_NOT_EXIST', 'ORDERNOTEXIST']) {
      answerWith(400, { code })
      expect(await shop.cancel('7000000001')).toEqual({ state: 'void' })
    }
  })
})

describe('an answer', () => {
  test('without a signature, with a probe or one that does not fit is not believed; the order is made once', async () => {
    const request = shop.requestOf()
    for (const tamper of [
      (headers: Map<string, string>) => headers.clear(),
      (headers: Map<string, string>) => headers.set('wechatpay-signature', `WECHATPAY/SIGNTEST/${'A'.repeat(80)}`),
      (headers: Map<string, string>) => headers.set('wechatpay-nonce', 'other'),
      (headers: Map<string, string>) => headers.set('wechatpay-serial', 'AB'.repeat(20)),
    ]) {
      shop.server.tamper = tamper
      const fault = await faultOf(shop.provider.start(request, patient))
      expect(fault).toMatchObject({ code: 'payment_unreachable', retryable: true, outcomeUnknown: true })
    }
    shop.server.tamper = () => undefined
    const { payUrl } = await shop.provider.start(request, patient)
    await shop.server.approve(payUrl, 'lost')
    expect(await shop.query(request.ref)).toMatchObject({ state: 'captured' })
  })

  test('that is too large, cut off or reset is a fault, at the latest when the signal ends', async () => {
    answerWith(400, { code: 'ORDER_CLOSED', message: 'x'.repeat(300_000) })
    expect(await faultOf(shop.cancel('7000000001'))).toMatchObject({ code: 'payment_unreachable', retryable: true })
    shop.server.misbehave = () => 'reset'
    expect(await faultOf(shop.query('7000000001'))).toMatchObject({ code: 'payment_unreachable', retryable: true })
    for (const trouble of ['cut', 'hang'] as const) {
      shop.server.misbehave = () => trouble
      const ended = new AbortController()
      const fault = faultOf(shop.provider.query({ ref: '7000000001' }, ended.signal))
      ended.abort()
      expect(await fault).toMatchObject({ code: 'payment_unreachable', retryable: true })
    }
  })

  test('of a machine whose clock is six minutes off: the fault names the clock', async () => {
    shop.shiftClock(360_000)
    const refused = await faultOf(shop.query('7000000001'))
    shop.shiftClock(-360_000)
    expect(refused).toMatchObject({ code: 'payment_refused' })
    expect(refused.message).toContain('clock')
    // WeChat Pay accepts the request, and we do not accept an answer so old.
    const { ref } = await shop.start()
    const old = shop.server.signer.sign.bind(shop.server.signer)
    shop.server.signer.sign = (body, signsWith) => old(body, signsWith, shop.clock.now() - 360_000)
    expect((await faultOf(shop.query(ref))).message).toMatch(/36[01] s apart/)
    shop.server.signer.sign = old
  })
})

test('only CNY is taken, and nothing else is asked for', async () => {
  expect([shop.provider.takes('CNY'), shop.provider.takes('USD')]).toEqual([true, false])
  const asked = shop.server.requests.length
  const fault = await faultOf(shop.start({ amount: { amount: 100, currency: 'USD' } }))
  expect(fault).toMatchObject({ code: 'payment_refused', retryable: false })
  expect(shop.server.requests.length).toBe(asked)
})

describe('examine', () => {
  const examine = async (of = shop) =>
    Object.fromEntries(
      (await of.provider.examine(patient)).map(({ what, ok, detail }) => [what, [ok, detail] as const]),
    )

  test('finds everything in order, but a callback address without https', async () => {
    const found = await examine()
    expect(Object.values(found).map(([ok]) => ok)).toEqual([true, true, true, false])
    expect(found['platform certificates and API v3 key']![1]).toContain(shop.server.signer.certificates[0]!.serial)
    expect(shop.server.inside.trades.has('stampede-examine')).toBe(false)
  })

  test('says what is wrong', async () => {
    shop.shiftClock(200_000)
    expect((await examine()).clock).toEqual([false, expect.stringMatching(/20[01] s/)])
    shop.shiftClock(-200_000)
    answerWith(401, { code: 'SIGN_ERROR' })
    expect((await examine())['merchant number, private key and serial number']![1]).toContain('WECHAT_SERIAL_NO')
    shop.server.misbehave = () => 'reset'
    expect((await examine())['WeChat Pay answers']![0]).toBe(false)
    const wrongKey = await openWechatShop('certificate', { apiV3Key: 'x'.repeat(32) })
    expect((await examine(wrongKey))['platform certificates and API v3 key']![1]).toContain('WECHAT_API_V3_KEY')
    await wrongKey.close()
  })

  test('tries the public key', async () => {
    const other = await openWechatShop('public key')
    expect((await examine(other))['WeChat Pay public key']).toEqual([true, 'It fits.'])
    other.server.tamper = headers => headers.set('wechatpay-nonce', 'other')
    expect((await examine(other))['WeChat Pay public key']![0]).toBe(false)
    await other.close()
  })
})
