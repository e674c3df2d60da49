/** `SIGN_IN_URL`: the page's button leads to the shop, which signs the buyer in and sends him back with a token that no one else can plant. */

import { afterAll, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { barriers, button } from '../harness/browser.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { pageStage } from './page-shop.ts'

const tokenFor = (buyer: string) =>
  new SignJWT()
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(buyer)
    .setExpirationTime('5m')
    .sign(Buffer.from(BUYER_JWT_SECRET))

/** A shop's own sign-in page, at its shortest: it knows who asks, and sends him back. */
const shop = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const back = new URL(request.url).searchParams.get('back') ?? ''
    return new Response(null, { status: 302, headers: { location: `${back}#token=${await tokenFor('ada')}` } })
  },
})
afterAll(() => shop.stop(true))

const stage = pageStage({
  GUEST_SIGN_IN: 'off',
  BUYER_JWT_SECRET,
  SIGN_IN_URL: `http://127.0.0.1:${shop.port}/sign-in?back={return}`,
})

test('the button leads to the shop and back, and the buyer can buy', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }])
  const visitor = await stage.newVisitor()
  const page = await visitor.tab(`${sale.path}?from=mail`)
  const signIn = button(page, 'signed_out')
  await signIn.waitFor()
  expect(await signIn.getAttribute('aria-disabled')).toBe('false')
  expect(await barriers(page)).toEqual([])
  await signIn.focus()
  await page.keyboard.press('Enter')
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
  expect(page.url()).toBe(`${stage.shop.url()}${sale.path}?from=mail`)
  expect((await stage.shop.orders(sale)).map(order => order.buyer)).toEqual(['ada'])
  await visitor.context.close()
})

test('the list of orders leads there too', async () => {
  const visitor = await stage.newVisitor({ locale: 'zh-CN' })
  const page = await visitor.tab('/orders')
  await page.getByRole('button', { name: '登录' }).click()
  await page.waitForURL(`${stage.shop.url()}/orders`)
  await page.locator('h1', { hasNotText: '登录' }).first().waitFor()
  await visitor.context.close()
})

test('a link with a token that this browser has not asked for signs no one in, and leaves no token in the address bar', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }])
  const visitor = await stage.newVisitor()
  for (const search of ['', '?signin=1-2-3-4']) {
    const page = await visitor.tab(`${sale.path}${search}#token=${await tokenFor('mallory')}`)
    await button(page, 'signed_out').waitFor()
    expect(page.url()).toBe(`${stage.shop.url()}${sale.path}`)
  }
  expect(await visitor.context.cookies()).toEqual([])
  await visitor.context.close()
})
