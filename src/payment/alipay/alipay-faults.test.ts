/** Alipay slow, silent, broken or lying: every call ends as a fault that says whether to try again, and no money moves twice. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { ServerResponse } from 'node:http'
import { AlipaySdk } from 'alipay-sdk'
import { Fault } from '../../base/fault.ts'
import { openAlipayShop } from './alipay-shop.fixture.ts'

let shop: Awaited<ReturnType<typeof openAlipayShop>>
let refs = 0
beforeAll(async () => {
  shop = await openAlipayShop('key')
})
afterAll(() => shop.close())
afterEach(() => shop.server.trouble(undefined))

const WHOLE = { amount: 199_900, currency: 'CNY' }
async function capture() {
  const ref = `f${++refs}`
  const { payUrl } = await shop.start(ref)
  expect(await shop.server.approve(payUrl)).toBe('captured')
  return ref
}
const query = (ref: string, signal = shop.never) => shop.provider.query({ ref }, signal)
const refund = (ref: string, key: string, part?: number) =>
  shop.provider.refund(
    { ref },
    { key, captured: WHOLE, part: part === undefined ? undefined : { ...WHOLE, amount: part } },
    shop.never,
  )
const say =
  (text: string, status = 200) =>
  (_: string, response: ServerResponse) => {
    response.writeHead(status).end(text)
    return true
  }
const TO_RETRY = { code: 'payment_unreachable', retryable: true }
const REFUSED = { code: 'payment_refused', retryable: false }

describe('an answer that is none', () => {
  test.each([
    ['5xx', say('Bad Gateway', 502)],
    ['5xx with a good body', say('{"alipay_trade_query_response":{"code":"10000"}}', 500)],
    ['elsewhere', say('', 302)],
    ['empty', say('')],
    ['no JSON', say('<html>busy</html>')],
    ['a list', say('[]')],
    ['cut off in the middle', say('{"alipay_trade_query_response":{"code":"10000","trade_status":"TRADE_SUC')],
    ['of another call', say('{"alipay_trade_close_response":{"code":"10000"},"sign":"x"}')],
    ['null', say('{"alipay_trade_query_response":null,"sign":"AA=="}')],
    ['too large', say(`{"alipay_trade_query_response":{"code":"${'1'.repeat(300_000)}"}}`)],
  ])('%s: try again', async (_, trouble) => {
    const ref = await capture()
    shop.server.trouble(trouble)
    await expect(query(ref)).rejects.toMatchObject(TO_RETRY)
    shop.server.trouble(undefined)
    expect(await query(ref)).toMatchObject({ state: 'captured' })
  })

  test('half-open: headers and part of a body, then nothing, until the signal ends', async () => {
    const ref = await capture()
    const arrived = Promise.withResolvers<void>()
    shop.server.trouble((_, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('{"alipay_trade')
      arrived.resolve()
      return true
    })
    const ended = new AbortController()
    const asked = query(ref, ended.signal).catch((error: unknown) => error)
    await arrived.promise
    ended.abort()
    expect(await asked).toMatchObject(TO_RETRY)
  })

  test('slow, in pieces: it is waited for', async () => {
    const ref = await capture()
    const body = { code: '10000', trade_status: 'TRADE_SUCCESS', total_amount: '1999.00' }
    const text = shop.server.answerText('alipay.trade.query', body)
    shop.server.trouble(async (_, response) => {
      response.writeHead(200)
      for (const char of text) {
        response.write(char)
        await new Promise(setImmediate)
      }
      response.end()
      return true
    })
    expect(await query(ref)).toMatchObject({ state: 'captured' })
  })

  test('the connection is reset', async () => {
    const ref = await capture()
    shop.server.trouble((_, response) => {
      response.socket?.destroy()
      return true
    })
    await expect(query(ref)).rejects.toMatchObject(TO_RETRY)
  })

  test('says nothing of the request: it holds signatures', async () => {
    const ref = await capture()
    shop.server.trouble((_, response) => {
      response.socket?.destroy()
      return true
    })
    const fault = await query(ref).catch((error: unknown) => error as Fault)
    expect(fault).toBeInstanceOf(Fault)
    expect(Bun.inspect(fault)).not.toContain('sign=')
  })
})

describe('an answer that is not Alipay’s', () => {
  test.each([
    ['not signed', (text: string) => text.replace(/,"sign":"[^"]*"/, '')],
    ['signed with nothing', (text: string) => text.replace(/"sign":"[^"]*"/, '"sign":""')],
    ['changed', (text: string) => text.replace('"1999.00"', '"1999.01"')],
    ['changed in its spaces', (text: string) => text.replace('"code":', '"code": ')],
    [
      'with another in front',
      (text: string) => text.replace('{"', '{"alipay_trade_query_response":{"code":"10000"},"'),
    ],
  ])('%s: is not believed', async (_, change) => {
    const ref = await capture()
    const genuine = shop.server.answerText('alipay.trade.query', {
      code: '10000',
      out_trade_no: ref,
      trade_status: 'TRADE_SUCCESS',
      total_amount: '1999.00',
    })
    shop.server.trouble(say(genuine))
    expect(await query(ref)).toMatchObject({ state: 'captured' })
    shop.server.trouble(say(change(genuine)))
    await expect(query(ref)).rejects.toMatchObject(TO_RETRY)
  })

  test('a "no such trade" that is not signed frees nothing', async () => {
    const ref = await capture()
    shop.server.trouble(say('{"alipay_trade_close_response":{"code":"40004","sub_code":"ACQ.TRADE_NOT_EXIST"}}'))
    await expect(shop.provider.cancel({ ref }, shop.never)).rejects.toMatchObject(TO_RETRY)
  })

  test('about another payment is not believed, however genuine: not by a query, a close, a refund or a code', async () => {
    const ref = await capture()
    const elsewhere = { code: '10000', out_trade_no: 'another', total_amount: '1999.00' }
    const lies: Readonly<Record<string, object>> = {
      'alipay.trade.query': { ...elsewhere, trade_status: 'TRADE_SUCCESS', send_pay_date: '2026-11-18 22:00:00' },
      'alipay.trade.close': elsewhere,
      'alipay.trade.refund': { ...elsewhere, fund_change: 'Y', refund_fee: '1999.00' },
      'alipay.trade.precreate': { ...elsewhere, qr_code: 'https://qr.alipay.com/another' },
    }
    let about = ''
    shop.server.trouble((method, response) => {
      if (method !== about) return false
      return say(shop.server.answerText(method, { ...lies[method] }))(method, response)
    })
    for (const [method, call] of [
      ['alipay.trade.query', () => query(ref)],
      ['alipay.trade.close', () => shop.provider.cancel({ ref }, shop.never)],
      ['alipay.trade.refund', () => refund(ref, 'k')],
      ['alipay.trade.precreate', () => shop.start(`f${++refs}`)],
    ] as const) {
      about = method
      await expect(call()).rejects.toMatchObject(TO_RETRY)
    }
    expect(shop.server.givenBack(ref)).toBe(0)
  })

  test('a state that is not in the documents is refused', async () => {
    const ref = await capture()
    const body = { code: '10000', trade_status: 'TRADE_PENDING', total_amount: '1.00' }
    shop.server.trouble(say(shop.server.answerText('alipay.trade.query', body)))
    await expect(query(ref)).rejects.toMatchObject(REFUSED)
  })
})

describe('an answer that says no', () => {
  test.each([
    ['20000', 'isp.unknow-error', TO_RETRY],
    ['40004', 'ACQ.SYSTEM_ERROR', TO_RETRY],
    ['40005', 'isv.app-call-limited', TO_RETRY],
    ['40004', 'ACQ.INVALID_PARAMETER', REFUSED],
    ['40006', 'isv.insufficient-isv-permissions', REFUSED],
    ['40002', 'isv.invalid-signature', REFUSED],
    ['40004', 'ACQ.SOMETHING_NEW', REFUSED],
    ['99999', '', REFUSED],
  ])('%s %s', async (code, sub_code, expected) => {
    shop.server.trouble(say(shop.server.answerText('alipay.trade.query', { code, msg: 'No', sub_code })))
    const fault = await query('any').catch((error: unknown) => error)
    expect(fault).toMatchObject(expected)
    expect((fault as Fault).message).toContain(sub_code)
  })

  test('with words that could break a log line does not bring them along', async () => {
    const body = { code: '40004', sub_code: 'x\n{"level":"fatal"}', sub_msg: '<script>' }
    shop.server.trouble(say(shop.server.answerText('alipay.trade.query', body)))
    const fault = await query('any').catch((error: unknown) => error as Fault)
    expect((fault as Fault).message).toBe('alipay.trade.query: Alipay answered 40004')
  })

  test('a wrong key of ours is refused at once, signed or not', async () => {
    const other = await openAlipayShop('key', { account: 'B' })
    shop.server.trouble(undefined)
    const wrong = await openAlipayShop('key', { gateway: other.server.settings.ALIPAY_GATEWAY! })
    await expect(wrong.start('w')).rejects.toMatchObject(REFUSED)
    await Promise.all([other.close(), wrong.close()])
  })
})

describe('a refund', () => {
  /** The call is done, and its answer lost. */
  const loseAnswerOf = (method: string) =>
    shop.server.trouble(async (asked, response) => {
      if (asked !== method) return false
      response.writeHead = () => response
      response.end = () => response.destroy() as never
      return false
    })

  test('whose answer is lost is found by the next try: refunded once', async () => {
    const ref = await capture()
    loseAnswerOf('alipay.trade.refund')
    await expect(refund(ref, 'k')).rejects.toMatchObject(TO_RETRY)
    expect(shop.server.givenBack(ref)).toBe(199_900)
    shop.server.trouble(undefined)
    expect(await refund(ref, 'k')).toEqual({ state: 'refunded' })
    expect(shop.server.givenBack(ref)).toBe(199_900)
  })

  test('of a part whose answer is lost is settled by a query of the refund', async () => {
    const ref = await capture()
    loseAnswerOf('alipay.trade.refund')
    await expect(refund(ref, 'k', 100)).rejects.toMatchObject(TO_RETRY)
    shop.server.trouble(undefined)
    const asked: string[] = []
    shop.server.trouble(method => asked.push(method) < 0)
    expect(await refund(ref, 'k', 100)).toEqual({ state: 'refunded' })
    expect(asked).toContain('alipay.trade.fastpay.refund.query')
    expect(shop.server.givenBack(ref)).toBe(100)
  })

  test('that Alipay has not finished is pending, or to be tried again, and never assumed done', async () => {
    const ref = await capture()
    const instead = (body: Record<string, string>) =>
      shop.server.trouble((method, response) =>
        method === 'alipay.trade.refund' ? say(shop.server.answerText(method, body))(method, response) : false,
      )
    instead({ code: '10000', msg: 'Success', fund_change: 'N', refund_fee: '0.00' })
    expect(await refund(ref, 'k')).toEqual({ state: 'pending' })
    instead({ code: '40004', sub_code: 'ACQ.SELLER_BALANCE_NOT_ENOUGH' })
    await expect(refund(ref, 'k')).rejects.toMatchObject(TO_RETRY)
    instead({ code: '20000', sub_code: 'aop.unknow-error' })
    await expect(refund(ref, 'k')).rejects.toMatchObject(TO_RETRY)
    shop.server.trouble(undefined)
    expect(await refund(ref, 'k')).toEqual({ state: 'refunded' })
    expect(shop.server.givenBack(ref)).toBe(199_900)
  })

  test('of the rest after parts: each lost answer is repeated, and exactly the rest goes back', async () => {
    const ref = await capture()
    expect(await refund(ref, 'p', 300)).toEqual({ state: 'refunded' })
    // The first refund of the pair is lost, then the second.
    for (const lost of [1, 2]) {
      let sent = 0
      shop.server.trouble(async (method, response) => {
        if (method === 'alipay.trade.refund' && ++sent === lost + 1) {
          response.writeHead = () => response
          response.end = () => response.destroy() as never
        }
        return false
      })
      await expect(refund(ref, 'x'.repeat(64))).rejects.toMatchObject(TO_RETRY)
    }
    shop.server.trouble(undefined)
    expect(await refund(ref, 'x'.repeat(64))).toEqual({ state: 'refunded' })
    expect(shop.server.givenBack(ref)).toBe(199_900)
  })

  test('of a payment that was captured in a wrong amount gives back what was captured', async () => {
    const ref = `f${++refs}`
    const { payUrl } = await shop.start(ref, { amount: { amount: 100, currency: 'CNY' } })
    await shop.server.approve(payUrl)
    expect(await refund(ref, 'k')).toEqual({ state: 'refunded' })
    expect(shop.server.givenBack(ref)).toBe(100)
  })

  test('of a trade that is past refunding is refused with a clear word', async () => {
    const ref = await capture()
    shop.server.trade(ref)!.status = 'TRADE_FINISHED'
    await expect(refund(ref, 'k')).rejects.toMatchObject({ ...REFUSED, message: expect.stringContaining('too old') })
    expect(shop.server.givenBack(ref)).toBe(0)
  })

  test('of a part of what all went back gives nothing a second time', async () => {
    const ref = await capture()
    await refund(ref, 'k')
    await expect(refund(ref, 'another', 100)).rejects.toMatchObject(REFUSED)
    expect(shop.server.givenBack(ref)).toBe(199_900)
  })
})

test("the local server speaks to Alipay's own client as it does to us", async () => {
  const ref = await capture()
  const { settings } = shop.server
  const client = new AlipaySdk({
    appId: settings.ALIPAY_APP_ID!,
    privateKey: settings.ALIPAY_PRIVATE_KEY!.trim(),
    keyType: 'PKCS8',
    alipayPublicKey: settings.ALIPAY_PUBLIC_KEY!,
    gateway: settings.ALIPAY_GATEWAY!,
  })
  const ask = (method: string, bizContent: Record<string, string>) =>
    client.exec(method, { bizContent }, { validateSign: true })
  expect(await ask('alipay.trade.query', { out_trade_no: ref })).toMatchObject({
    code: '10000',
    totalAmount: '1999.00',
  })
  const part = { out_trade_no: ref, refund_amount: '1.00', out_request_no: 'by-the-client' }
  expect(await ask('alipay.trade.refund', part)).toMatchObject({ fundChange: 'Y', refundFee: '1.00' })
  expect(await ask('alipay.trade.refund', part)).toMatchObject({ fundChange: 'N', refundFee: '1.00' })
  expect(await ask('alipay.trade.query', { out_trade_no: 'none' })).toMatchObject({ subCode: 'ACQ.TRADE_NOT_EXIST' })
})

test('a cancel that crosses a payment says what came of it, or asks to be tried again', async () => {
  const ref = await capture()
  expect(await shop.provider.cancel({ ref }, shop.never)).toEqual({ state: 'captured' })
  const waiting = shop.server.answerText('alipay.trade.query', { code: '10000', trade_status: 'WAIT_BUYER_PAY' })
  shop.server.trouble((method, response) => method === 'alipay.trade.query' && say(waiting)(method, response))
  await expect(shop.provider.cancel({ ref }, shop.never)).rejects.toMatchObject(TO_RETRY)
})

describe('examine', () => {
  const okOf = async (at: typeof shop) =>
    Object.fromEntries((await at.provider.examine(at.never)).map(({ what, ok }) => [what, ok]))

  test('finds keys, clock and callback address', async () => {
    expect(await okOf(shop)).toEqual({ 'app id and keys': true, 'callback address': false, clock: true })
    shop.shiftClock(360_000)
    expect(await okOf(shop)).toMatchObject({ clock: false })
    shop.shiftClock(-360_000)
    shop.server.trouble(say('{"alipay_trade_query_response":{"code":"40002","sub_code":"isv.invalid-signature"}}'))
    const [keys] = await shop.provider.examine(shop.never)
    expect(keys).toMatchObject({ ok: false, detail: expect.stringContaining('isv.invalid-signature') })
  })

  test('says when a certificate is about to end', async () => {
    const other = await openAlipayShop('certificate')
    expect(await okOf(other)).toMatchObject({ 'app id and keys': true, certificates: true })
    other.shiftClock(36_290 * 86_400_000)
    expect(await okOf(other)).toMatchObject({ certificates: false })
    await other.close()
  })
})
