import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page, Route } from 'playwright-core'
import { button, openBrowser, type Visitor } from '../harness/browser.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { openPageShop, type PageShop } from './page-shop.ts'

// The page looks at the sale, and hears of it, at the same time: what arrives last is not always what was true last.

const SALE = '**/api/sales/*'

const playground = new Playground()
let shop: PageShop
let newVisitor: () => Promise<Visitor>

beforeAll(async () => {
  shop = await openPageShop(playground)
  const browser = await openBrowser(playground)
  newVisitor = () => browser.visitor(() => shop.url(), { cut: true })
})
afterAll(() => playground.undo())

/** The page of a sale of one unit, with a live connection that has brought something. */
async function watched() {
  const sale = await shop.sale(-1_000, [{ units: 1 }])
  const visitor = await newVisitor()
  const listening = visitor.context
    .waitForEvent('page')
    .then(page => page.waitForEvent('websocket'))
    .then(socket => socket.waitForEvent('framereceived'))
  const page = await visitor.tab(sale.path)
  await listening
  await button(page, 'live').waitFor()
  return { sale, visitor, page }
}

/** The page looks once more; what the server said to it comes when it is let through. */
async function slowLook(page: Page): Promise<() => Promise<void>> {
  const answered = Promise.withResolvers<() => Promise<void>>()
  const hold = async (route: Route) => {
    const response = await route.fetch()
    answered.resolve(() => route.fulfill({ response }))
  }
  await page.route(SALE, hold, { times: 1 })
  await page.evaluate("window.dispatchEvent(new Event('online'))")
  return answered.promise
}

test('a look that was answered before the news, and arrives after them, does not bring back what is gone', async () => {
  const { sale, visitor, page } = await watched()
  const letThrough = await slowLook(page)
  await shop.take(sale, 'faster', 1)
  await button(page, 'sold_out').waitFor()
  const arrived = page.waitForEvent('requestfinished', request => request.url().endsWith(`/api/sales/${sale.id}`))
  await letThrough()
  await arrived
  await page.evaluate('new Promise(shown => requestAnimationFrame(() => requestAnimationFrame(shown)))')
  expect(await page.locator('.main-button').getAttribute('data-state')).toBe('sold_out')
  await visitor.context.close()
})

test('a link that is followed while something is being read shows its page at once, not at the next look', async () => {
  await shop.endAll()
  const { visitor, page } = await watched()
  const letThrough = await slowLook(page)
  await page.locator('a[href="/"]').first().click()
  await until('the address', () => new URL(page.url()).pathname === '/')
  await letThrough()
  await page.locator('[data-item]').first().waitFor()
  await visitor.context.close()
})
