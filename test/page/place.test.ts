import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { barriers, button } from '../harness/browser.ts'
import { until } from '../harness/until.ts'
import { pageStage } from './page-shop.ts'

// Where the button is: whoever waits with a finger over it must find it there when it turns live.

const stage = pageStage()

// High enough for every button: a window that has to be scrolled hides a jump by scrolling along.
const DESK = { viewport: { width: 1280, height: 1000 } }
const TEAPOT = { name: 'Hand-thrown teapot, celadon glaze', units: 100, listPrice: 299_900 }
const DAY_MS = 24 * 3_600_000

/** The middle of the first button, in the window. */
async function middle(page: Page): Promise<{ x: number; y: number }> {
  const box = await page.locator('.main-button').first().boundingBox()
  if (box === null) throw new Error('there is no button')
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 }
}

const KINDS = [
  ['one item', [TEAPOT], 3_600_000],
  ['a choice of quantity', [{ ...TEAPOT, quantityMax: 3 }], 3_600_000],
  ['a sale of several days', [TEAPOT], 3 * DAY_MS],
  ['several items', [TEAPOT, { name: 'Cast-iron kettle', units: 5 }], 3_600_000],
] as const

// Side by side, for most of it is waiting for an opening.
test('keeps the button under a pointer held still over zero, whatever is sold', async () => {
  const visits = KINDS.map(async ([what, items, lastsMs]) => {
    const visitor = await stage.newVisitor(DESK)
    const page = await visitor.tab('/orders')
    const sale = await stage.shop.sale(600_000, items, { lastsMs })
    await page.goto(stage.shop.url() + sale.path)
    await button(page, 'before').first().waitFor()
    const { x, y } = await middle(page)
    await page.mouse.move(x, y)
    // Only now: a slow machine may need longer for the page than any countdown lasts.
    await stage.shop.openIn(sale, 3_000)
    await button(page, 'live').first().waitFor()
    await page.mouse.click(x, y)
    await page.locator('.panel-pending').waitFor()
    expect(visitor.ordersSent(), what).toBe(1)
    expect(visitor.complaints(), what).toEqual([])
    await visitor.context.close()
  })
  await Promise.all(visits)
})

test('keeps the button under a pointer held still when a unit comes back', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1, quantityMax: 3 }])
  const order = await stage.shop.take(sale, 'faster', 1)
  const visitor = await stage.newVisitor(DESK)
  const page = await visitor.tab(sale.path)
  await button(page, 'sold_out').waitFor()
  const { x, y } = await middle(page)
  await page.mouse.move(x, y)
  await stage.shop.till.operator('POST', `/orders/${order}/cancel`)
  await button(page, 'live').waitFor()
  await page.mouse.click(x, y)
  await page.locator('.panel-pending').waitFor()
  expect(visitor.ordersSent()).toBe(1)
  await visitor.context.close()
})

test('keeps the button where it is when the shop can’t be reached for a moment', async () => {
  const sale = await stage.shop.sale(-1_000, [TEAPOT])
  const visitor = await stage.newVisitor({ ...DESK, cut: true })
  await visitor.context.routeWebSocket(/\/api\/live/, socket => socket.close())
  const page = await visitor.tab(sale.path)
  await button(page, 'live').waitFor()
  const before = await middle(page)
  await page.route('**/api/sales/*', route => route.abort())
  await page.locator('.banner').waitFor()
  expect(await middle(page)).toEqual(before)
  expect(await barriers(page)).toEqual([])
  await page.mouse.click(before.x, before.y)
  await page.locator('.panel-pending').waitFor()
  await visitor.context.close()
})

const PHONES = ['en-US', 'zh-CN'].flatMap(locale => [
  { locale, viewport: { width: 360, height: 740 }, quantityMax: 2 },
  { locale, viewport: { width: 320, height: 640 }, quantityMax: 1 },
])

test('shows the button on a phone without scrolling, before the opening and after it, in either language', async () => {
  const visits = PHONES.map(async ({ locale, viewport, quantityMax }) => {
    const phone = `${locale}, ${viewport.width} × ${viewport.height}`
    const visitor = await stage.newVisitor({ viewport, locale, isMobile: true, hasTouch: true })
    const page = await visitor.tab('/orders')
    const sale = await stage.shop.sale(600_000, [{ ...TEAPOT, quantityMax }])
    await page.goto(stage.shop.url() + sale.path)
    const box = async (what: string) => {
      const found = await page.locator(what).boundingBox()
      if (found === null) throw new Error(`${phone}: ${what} is not shown`)
      return { top: found.y, bottom: found.y + found.height }
    }
    await button(page, 'before').waitFor()
    const before = await box('.main-button')
    expect(before.bottom, phone).toBeLessThanOrEqual(viewport.height)
    expect((await box('.countdown')).bottom, phone).toBeLessThanOrEqual(before.top)
    await stage.shop.openIn(sale, 3_000)
    await button(page, 'live').waitFor()
    expect(await box('.main-button'), phone).toEqual(before)
    await button(page, 'live').tap()
    await page.locator('.panel-pending').waitFor()
    // The way on is not left below the edge of the screen either.
    await until('the way to pay on the screen', async () => (await box('.button-pay')).bottom <= viewport.height)
    expect(visitor.complaints(), phone).toEqual([])
    await visitor.context.close()
  })
  await Promise.all(visits)
})
