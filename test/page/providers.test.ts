/**
 * Buyers pay on the page through the real adapters: Stripe, Alipay and WeChat Pay, each with its local server. One server sells for all cases.
 * WeChat Pay and Alipay's codes are paid "on the phone", which the page does not see.
 */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openAlipayServer } from '../../src/payment/alipay/alipay-server.fixture.ts'
import { openLocalStripe } from '../../src/payment/stripe/stripe-server.fixture.ts'
import { openWechatServer } from '../../src/payment/wechat/wechat-server.fixture.ts'
import { barriers, button, openBrowser, type Visitor } from '../harness/browser.ts'
import { Playground } from '../harness/playground.ts'
import { openPageShop, type PageShop } from './page-shop.ts'

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }
const PRICE = 199_900
/** On a loaded machine a case takes many times what it takes alone. */
const CASE_MS_MAX = 300_000

const playground = new Playground()
let shop: PageShop
let stripe: Awaited<ReturnType<typeof openLocalStripe>>
let alipay: Awaited<ReturnType<typeof openAlipayServer>>
let wechat: Awaited<ReturnType<typeof openWechatServer>>
let browser: Awaited<ReturnType<typeof openBrowser>>

beforeAll(async () => {
  ;[stripe, alipay, wechat] = await Promise.all([openLocalStripe(), openAlipayServer('key'), openWechatServer()])
  for (const local of [stripe, alipay, wechat]) playground.onUndo(() => local.close())
  shop = await openPageShop(playground, {
    PAYMENT_PROVIDERS: 'stripe,alipay,wechat',
    ...stripe.settings,
    ...alipay.settings,
    ...wechat.settings,
  })
  stripe.callBackTo(`${shop.url()}/api/payments/stripe/callback`)
  browser = await openBrowser(playground)
}, CASE_MS_MAX)
afterAll(() => playground.undo(), CASE_MS_MAX)

async function ordered(options = {}) {
  const sale = await shop.sale(-1_000, [{ units: 3, price: PRICE }])
  const visitor = await browser.visitor(() => shop.url(), options)
  const page = await visitor.tab(sale.path)
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
  return { sale, visitor, page }
}

const offered = (page: Page) =>
  page.locator('.pay-choice input').evaluateAll(inputs => inputs.map(input => input.getAttribute('value')))

async function payBy(page: Page, choice: string): Promise<void> {
  await page.locator(`input[value="${choice}"]`).check()
  await page.locator('.button-pay').click()
}

/** What the code on the page says, as a phone reads it. */
async function scanned(page: Page): Promise<string> {
  const code = page.locator('.pay-code svg[data-qr]')
  await code.waitFor()
  return (await code.getAttribute('data-qr'))!
}

/** Nothing to complain about, beyond the visits to the providers' own pages. */
async function leave(visitor: Visitor): Promise<void> {
  const pages = [stripe.settings.STRIPE_API_BASE, new URL(alipay.settings.ALIPAY_GATEWAY!).origin]
  expect(visitor.complaints().filter(line => !pages.some(page => line.includes(page)))).toEqual([])
  await visitor.context.close()
}

/** Each payment of the shop was taken once or not at all, and nothing went back. */
function booksAgree(): void {
  for (const local of [stripe, alipay, wechat])
    for (const { captured, refunded } of local.books().values())
      expect([[0, PRICE].includes(captured), refunded]).toEqual([true, 0])
}

test(
  'chooses between three providers, pays by card on the provider’s page and comes back to "paid"',
  async () => {
    const { page, visitor } = await ordered()
    expect(await offered(page)).toEqual(['stripe checkout', 'alipay page', 'alipay qr', 'wechat native'])
    expect(await page.locator('.pay-choice-name').allTextContents()).toEqual(['Card', 'Alipay', 'Alipay', 'WeChat Pay'])
    expect(await barriers(page)).toEqual([])
    await payBy(page, 'stripe checkout')
    await page.getByRole('button', { name: 'Pay', exact: true }).click()
    await page.locator('.panel-paid').waitFor()
    expect(new URL(page.url()).origin).toBe(shop.url())
    expect(await barriers(page)).toEqual([])
    await leave(visitor)
  },
  CASE_MS_MAX,
)

test(
  'is declined, told at once, tries again in vain, and pays another way',
  async () => {
    const { page, visitor } = await ordered()
    await payBy(page, 'stripe checkout')
    for (let tries = 0; tries < 2; tries++) {
      await page.getByRole('button', { name: 'Decline' }).click()
      await page.locator('.problem', { hasText: 'The payment was declined' }).waitFor()
      expect(await page.locator('.checking').count()).toBe(0)
      expect(await barriers(page)).toEqual([])
      if (tries === 0) await page.locator('.button-pay', { hasText: 'Try again' }).click()
    }
    await payBy(page, 'wechat native')
    expect(await wechat.approve(await scanned(page))).toBe('captured')
    await page.locator('.panel-paid').waitFor()
    await leave(visitor)
  },
  CASE_MS_MAX,
)

for (const [choice, app] of [
  ['wechat native', 'WeChat'],
  ['alipay qr', 'Alipay'],
] as const)
  test(
    `${choice}: leaves the tab open with the code, pays on the phone, and the page switches to "paid" by itself`,
    async () => {
      const { page, visitor } = await ordered()
      await payBy(page, choice)
      const code = await scanned(page)
      await page.getByText(`Scan with ${app}`).waitFor()
      expect(await barriers(page)).toEqual([])
      await page.evaluate('globalThis.sameDocument = true')
      expect(await (app === 'Alipay' ? alipay : wechat).approve(code)).toBe('captured')
      await page.locator('.panel-paid').waitFor()
      expect(await page.evaluate('globalThis.sameDocument')).toBe(true)
      await leave(visitor)
    },
    CASE_MS_MAX,
  )

test(
  'closes the tab, pays the code on the phone although no callback arrives, and opens the page again: paid',
  async () => {
    const { page, visitor } = await ordered()
    await payBy(page, 'wechat native')
    const code = await scanned(page)
    const { pathname } = new URL(page.url())
    await page.close()
    expect(await wechat.approve(code, 'lost')).toBe('captured')
    const again = await visitor.tab(pathname)
    await again.locator('.panel-paid').waitFor()
    await leave(visitor)
  },
  CASE_MS_MAX,
)

test(
  'in Chinese on a phone: the apps’ own pages are offered, and Alipay’s is paid',
  async () => {
    const { page, visitor } = await ordered({ ...PHONE, locale: 'zh-CN' })
    expect(await offered(page)).toEqual(['stripe checkout', 'alipay wap', 'wechat h5'])
    expect(await page.locator('.pay-choice-name').allTextContents()).toEqual(['银行卡', '支付宝', '微信支付'])
    const [wide, view] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [number, number]
    expect(wide).toBeLessThanOrEqual(view)
    expect(await barriers(page)).toEqual([])
    await payBy(page, 'alipay wap')
    await page.getByRole('button', { name: 'approve' }).click()
    await page.locator('.panel-paid').waitFor()
    expect(await barriers(page)).toEqual([])
    await leave(visitor)
    booksAgree()
  },
  CASE_MS_MAX,
)
