import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { barriers, button } from '../harness/browser.ts'
import { pageStage } from './page-shop.ts'

// How a buyer pays: a choice of ways, the provider's page and back, a decline, a code that a phone scans.

const stage = pageStage({ PAYMENT_PROVIDERS: 'sandbox', SANDBOX_METHODS: 'page,code' })

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }

async function ordered(options = {}) {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }])
  const visitor = await stage.newVisitor(options)
  const page = await visitor.tab(sale.path)
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
  return { sale, visitor, page }
}

const choose = (page: Page, method: string) => page.locator(`input[value="sandbox ${method}"]`).check()

test('chooses a way to pay, pays at the provider, comes back and sees that it is paid', async () => {
  const { page, visitor } = await ordered()
  expect(await page.locator('.pay-choice').count()).toBe(2)
  expect(await barriers(page)).toEqual([])
  await choose(page, 'page')
  await page.locator('.button-pay').click()
  await page.locator('button.approve').click()
  await page.locator('.panel-paid').waitFor()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

test('is told at once that the payment was declined, and pays with another try', async () => {
  const { page, visitor } = await ordered()
  await choose(page, 'page')
  await page.locator('.button-pay').click()
  await page.locator('button.decline').click()
  await page.locator('.problem', { hasText: 'The payment was declined' }).waitFor()
  expect(await page.locator('.checking').count()).toBe(0)
  await page.locator('.button-pay', { hasText: 'Try again' }).click()
  await page.locator('button.approve').click()
  await page.locator('.panel-paid').waitFor()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

test('shows a code; paid on the phone, the page switches to paid by itself, also one that was opened anew', async () => {
  const { page, visitor } = await ordered()
  await choose(page, 'code')
  await page.locator('.button-pay').click()
  await page.locator('.pay-code svg').waitFor()
  expect(await barriers(page)).toEqual([])
  // The tab is closed, and another one opened: the code is still there.
  const address = page.url()
  await page.close()
  const again = await visitor.tab(new URL(address).pathname)
  await again.locator('.pay-code svg').waitFor()
  const { orders } = (await again.evaluate(async () => (await fetch('/api/orders')).json())) as {
    orders: { payment: { qr: string } }[]
  }
  const phone = await stage.newVisitor(PHONE)
  const scanned = await phone.tab(new URL(orders[0]!.payment.qr).pathname)
  await scanned.locator('button.approve').click()
  await again.locator('.panel-paid').waitFor()
  expect(visitor.complaints()).toEqual([])
  await phone.context.close()
  await visitor.context.close()
})

test('says so while the script of the code can’t be loaded, and shows the code as soon as it can', async () => {
  const { page, visitor } = await ordered({ cut: true })
  await choose(page, 'code')
  await page.route('**/assets/*.js', route => route.abort())
  await page.locator('.button-pay').click()
  await page.locator('.problem', { hasText: 'The code could not be loaded' }).waitFor()
  await page.unroute('**/assets/*.js')
  await page.locator('.pay-code svg').waitFor()
  expect(await page.locator('.problem').count()).toBe(0)
  expect(await page.evaluate('document.activeElement.className')).toBe('pay-code')
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

for (const locale of ['en-GB', 'zh-CN'])
  test(`fits a phone: the way to pay, and a decline (${locale})`, async () => {
    const { page, visitor } = await ordered({ ...PHONE, locale })
    const narrow = async () => {
      const [wide, view] = (await page.evaluate('[document.documentElement.scrollWidth, innerWidth]')) as [
        number,
        number,
      ]
      expect(wide).toBeLessThanOrEqual(view)
    }
    await narrow()
    await page.locator('.button-pay').click()
    await page.locator('button.decline').click()
    await page.locator('.problem').waitFor()
    await narrow()
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })
