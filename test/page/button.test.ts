/** `<stampede-button>` in a page of the shop's own, on another origin: from the countdown to a paid order, and in Chinese with a keyboard. */

import { afterAll, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import type { Page } from 'playwright-core'
import { barriers } from '../harness/browser.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { pageStage } from './page-shop.ts'

const tokenFor = (buyer: string) =>
  new SignJWT()
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(buyer)
    .setExpirationTime('5m')
    .sign(Buffer.from(BUYER_JWT_SECRET))

/** The shop: a page with nothing but the button, and who is asking. */
const shop = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const { pathname, searchParams: given } = new URL(request.url)
    if (pathname === '/token') return new Response(await tokenFor(given.get('buyer') ?? ''))
    const page = `<!doctype html><html lang="${given.get('lang')}"><head><title>Shop</title><link rel="icon" href="data:,"></head><body><main><h1>Teapot</h1>
<stampede-button sale="${given.get('sale')}" item="${given.get('item')}" url="${stage.shop.url()}"></stampede-button></main>
<script type="module">
document.querySelector('stampede-button').token = () => fetch('/token?buyer=${given.get('buyer')}').then(answer => answer.text())
await import('${stage.shop.url()}/button.js')
</script></body></html>`
    return new Response(page, { headers: { 'content-type': 'text/html; charset=utf-8' } })
  },
})
afterAll(() => shop.stop(true))

const origin = `http://127.0.0.1:${shop.port}`
const stage = pageStage({ GUEST_SIGN_IN: 'off', BUYER_JWT_SECRET, CORS_ORIGINS: origin, PAYMENT_PROVIDERS: 'sandbox' })

const inState = (page: Page, kind: string) => page.locator(`stampede-button[data-state=${kind}]`)
const addressOf = (sale: { id: string; items: readonly { id: string }[] }, buyer: string, lang: string) =>
  `${origin}/?sale=${sale.id}&item=${sale.items[0]?.id}&buyer=${buyer}&lang=${lang}`

test('counts down, buys two, pays, and knows it after coming back', async () => {
  const sale = await stage.shop.sale(60_000, [{ units: 5, quantityMax: 2 }])
  const visitor = await stage.newVisitor()
  const page = await visitor.context.newPage()
  await page.goto(addressOf(sale, 'ada', 'en'))
  await inState(page, 'before').waitFor()
  expect(await page.locator('.clock').innerText()).toMatch(/^(01:00|00:\d\d)$/)
  expect(await barriers(page)).toEqual([])
  await stage.shop.openIn(sale, 2_000)
  await inState(page, 'live').waitFor()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Buy now' }).click()
  await inState(page, 'placed').waitFor()
  expect(await barriers(page)).toEqual([])
  expect(await stage.shop.orders(sale)).toMatchObject([{ buyer: 'ada', quantity: 2, state: 'pending' }])
  await page.getByRole('button', { name: 'Pay now' }).click()
  await page.waitForURL(/\/sandbox\/pay\//)
  await page.locator('form[action$=approve] button, button.main-button').first().click()
  await page.waitForURL(`${origin}/**`)
  await inState(page, 'paid').waitFor()
  await visitor.context.close()
})

test('in Chinese, with the keyboard alone; sold out for the next', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const visitor = await stage.newVisitor({ viewport: { width: 360, height: 640 } })
  const page = await visitor.context.newPage()
  await page.goto(addressOf(sale, 'bob', 'zh-CN'))
  await page.getByRole('button', { name: '立即抢购' }).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: '去支付' }).waitFor()
  expect(await barriers(page)).toEqual([])
  const late = await visitor.context.newPage()
  await late.goto(addressOf(sale, 'eve', 'zh-CN'))
  await late.getByRole('button', { name: '已售罄' }).waitFor()
  await visitor.context.close()
})

test('joins a waiting line, says where it stands, and buys when it is let in', async () => {
  const opensAt = new Date(Date.now() - 60_000).toISOString()
  const sale = await stage.shop.sale(-1_000, [{ units: 5 }], { line: { opensAt, order: 'arrival' } })
  const steer = (what: string) => stage.shop.till.operator('POST', `/sales/${sale.id}/line/${what}`)
  await steer('pause')
  const visitor = await stage.newVisitor()
  const page = await visitor.context.newPage()
  await page.goto(addressOf(sale, 'ida', 'en'))
  await page.getByRole('button', { name: 'Join the line' }).click()
  await inState(page, 'in_line').waitFor()
  await page.getByText('You are next.').waitFor()
  expect(await barriers(page)).toEqual([])
  await steer('resume')
  await inState(page, 'live').waitFor()
  await page.getByText(/^It is your turn: 0[12]:\d\d left to buy$/).waitFor()
  await page.getByRole('button', { name: 'Buy now' }).click()
  await inState(page, 'placed').waitFor()
  await visitor.context.close()
})
