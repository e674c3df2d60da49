/** Payment on a page of Alipay's: nothing is sent at the start, and Alipay hears of the payment when the buyer opens the page. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openAlipayShop } from './alipay-shop.fixture.ts'
import { fromBeijing, toBeijing } from './beijing-time.ts'

describe.each(['key', 'certificate'] as const)('pages in %s mode', mode => {
  let shop: Awaited<ReturnType<typeof openAlipayShop>>
  beforeAll(async () => {
    shop = await openAlipayShop(mode, { methods: ['page', 'wap'] })
  })
  afterAll(() => shop.close())
  const stateOf = async (payment: { ref: string; handle?: string | undefined }) =>
    (await shop.provider.query(payment, shop.never)).state

  test("Alipay's own client signs the same page with the same words", async () => {
    const payByMs = shop.clock.now() + 900_000
    const returnUrl = 'https://shop.example/orders/1?a=b&c=d'
    const { payUrl } = await shop.start('same', { payByMs, returnUrl, description: 'Phone 手机 / 1 = 2 & 3' })
    const ours = Object.fromEntries(new URL(payUrl).searchParams)
    const content = JSON.parse(ours.biz_content!) as Record<string, string>
    expect(content).toEqual({
      out_trade_no: 'same',
      total_amount: '1999.00',
      subject: 'Phone 手机   1   2   3',
      time_expire: toBeijing(payByMs),
      product_code: 'FAST_INSTANT_TRADE_PAY',
    })
    expect(ours.return_url).toBe(returnUrl)
    expect(ours.notify_url).toBe(`${new URL(shop.listener.url).origin}/api/payments/alipay/callback`)
    const { sign, method, biz_content: _, ...rest } = ours
    const theirs = shop.server.shop().sdkExecute(method!, { ...rest, bizContent: content })
    expect(new URLSearchParams(theirs).get('sign')).toBe(sign!)
  })

  test('wap is the page for phones, and a method that the account has not is refused', async () => {
    const { payUrl } = await shop.start('phone', { method: 'wap' })
    expect(payUrl).toContain('method=alipay.trade.wap.pay')
    const content = JSON.parse(new URL(payUrl).searchParams.get('biz_content')!) as Record<string, string>
    expect(content).toMatchObject({ product_code: 'QUICK_WAP_WAY', quit_url: new URL(shop.listener.url).origin })
    expect(await shop.server.approve(payUrl)).toBe('captured')
    for (const method of ['qr', 'toString', ''])
      await expect(shop.start('x', { method })).rejects.toMatchObject({ code: 'payment_refused', retryable: false })
  })

  test('two pages of a ref are one payment: it is paid once', async () => {
    const [one, two] = [await shop.start('twice'), await shop.start('twice', { method: 'wap' })]
    expect(await shop.server.approve(one.payUrl)).toBe('captured')
    expect(await shop.server.approve(two.payUrl)).toBe('refused')
    expect(shop.server.books().get('twice')).toEqual({ captured: 199_900, refunded: 0 })
  })

  test('is open before the buyer has opened it, and over when its time is', async () => {
    const payByMs = shop.clock.now() + 60_000
    const { payUrl, handle } = await shop.start('unopened', { payByMs })
    expect(await stateOf({ ref: 'unopened' })).toBe('unknown')
    expect(await stateOf({ ref: 'unopened', handle })).toBe('open')
    shop.server.shiftClock(60_001)
    // Ours is still behind: Alipay's clock decides, and ours gives it room.
    expect(await shop.server.approve(payUrl)).toBe('refused')
    expect(await stateOf({ ref: 'unopened', handle })).toBe('open')
    // Ours may be minutes ahead of Alipay's as well.
    shop.shiftClock(420_000)
    expect(await stateOf({ ref: 'unopened', handle })).toBe('open')
    shop.shiftClock(241_000)
    expect(await shop.provider.query({ ref: 'unopened', handle }, shop.never)).toEqual({
      state: 'void',
      why: 'expired',
    })
    shop.server.shiftClock(-60_001)
    shop.shiftClock(-661_000)
  })

  test('a page that was opened closes at its time, and Alipay tells', async () => {
    const { payUrl } = await shop.start('opened', { payByMs: shop.clock.now() + 60_000 })
    shop.server.visit(payUrl)
    expect(await stateOf({ ref: 'opened' })).toBe('open')
    shop.server.shiftClock(60_001)
    expect(await stateOf({ ref: 'opened' })).toBe('void')
    const { rawBody, headers } = await shop.received('opened')
    expect(await shop.provider.verify(rawBody, headers)).toMatchObject({ ref: 'opened', kind: 'void', why: 'expired' })
    shop.server.shiftClock(-60_001)
  })

  test('a page with any word changed is not shown', async () => {
    const { payUrl } = await shop.start('changed')
    expect(await shop.server.approve(payUrl.replace('1999.00', '1.00'))).toBe('refused')
    expect(await shop.server.approve(payUrl.replace('changed', 'another'))).toBe('refused')
  })

  test('a path to return to is on this site, and what is no address is left out', async () => {
    const backOf = async (returnUrl: string) =>
      new URL((await shop.start('back', { returnUrl })).payUrl).searchParams.get('return_url')
    expect(await backOf('/orders/7')).toBe(`${new URL(shop.listener.url).origin}/orders/7`)
    expect(await backOf('javascript:alert(1)')).toBeNull()
  })

  test('amounts are exact text, and those that Alipay does not take are refused', async () => {
    const paid = async (amount: number, currency = 'CNY') =>
      JSON.parse(
        new URL((await shop.start('a', { amount: { amount, currency } })).payUrl).searchParams.get('biz_content')!,
      ).total_amount
    expect(await Promise.all([1, 10, 110, 9_007_199].map(amount => paid(amount)))).toEqual([
      '0.01',
      '0.10',
      '1.10',
      '90071.99',
    ])
    expect(await paid(10_000_000_000)).toBe('100000000.00')
    for (const [amount, currency] of [
      [0, 'CNY'],
      [10_000_000_001, 'CNY'],
      [100, 'USD'],
      [100, 'HKD'],
    ] as const)
      await expect(paid(amount, currency)).rejects.toMatchObject({ code: 'payment_refused', retryable: false })
    expect([shop.provider.takes('CNY'), shop.provider.takes('HKD')]).toEqual([true, false])
  })
})

test("times are Beijing's, in whole seconds", () => {
  expect(toBeijing(Date.UTC(2026, 10, 18, 16, 0, 0, 999))).toBe('2026-11-19 00:00:00')
  expect(fromBeijing('2026-11-19 00:00:00')).toBe(Date.UTC(2026, 10, 18, 16))
  expect(fromBeijing('2015-04-28 15:45:57.320')).toBe(Date.UTC(2015, 3, 28, 7, 45, 57, 320))
  for (const bad of [undefined, '', '2026-11-19', '2026-13-40 00:00:00', '2026-11-19T00:00:00', 5])
    expect(fromBeijing(bad)).toBeUndefined()
})
