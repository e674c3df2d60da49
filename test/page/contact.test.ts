import { expect, test } from 'bun:test'
import { barriers, button } from '../harness/browser.ts'
import { pageStage } from './page-shop.ts'

// A sale that asks how its buyers can be reached: the form before the payment, in both languages, on a phone, by keyboard alone.

const stage = pageStage()

const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }
const ADDRESS = '1 Main Street <b>\n上海市'

test('the contact is asked for before the payment, kept, shown, changed by keyboard alone, and reaches the shop', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }], { contactFields: ['email', 'address'] })
  const visitor = await stage.newVisitor(PHONE)
  const page = await visitor.tab(sale.path)
  await button(page, 'live').click()
  const form = page.locator('form.contact')
  await form.waitFor()
  expect(await page.locator('.button-pay').count()).toBe(0)
  expect(await barriers(page)).toEqual([])

  await form.locator('input').focus()
  await page.keyboard.press('Enter')
  expect(await form.locator('[aria-invalid="true"]').count()).toBe(2)
  expect(await form.locator('input:focus').getAttribute('name')).toBe('email')
  await page.keyboard.type('ann')
  await page.keyboard.press('Tab')
  await page.keyboard.insertText(ADDRESS)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await form.locator('[name="email"][aria-invalid="true"]').waitFor()
  expect(await form.locator('input:focus').getAttribute('name')).toBe('email')
  expect(await barriers(page)).toEqual([])
  await page.keyboard.press('End')
  await page.keyboard.type('@example.com')
  await page.keyboard.press('Enter')
  await page.locator('section.contact').waitFor()
  expect(await page.locator('section.contact dd').allInnerTexts()).toEqual(['ann@example.com', ADDRESS])
  expect(await barriers(page)).toEqual([])

  // It is there after a reload, and is changed with the button that has the focus.
  await page.reload()
  await page.locator('section.contact button').press('Enter')
  await form.locator('[name="email"]').fill('bea@example.com')
  await page.keyboard.press('Enter')
  await page.locator('section.contact dd', { hasText: 'bea@example.com' }).waitFor()
  await page.locator('.button-pay').click()
  await page.locator('button.approve').click()
  await page.locator('.panel-paid').waitFor()
  const [order] = await stage.shop.orders(sale)
  expect(await stage.shop.till.order(order!.id)).toMatchObject({
    contact: { email: 'bea@example.com', address: ADDRESS },
  })
  expect(visitor.complaints().filter(line => !line.includes('422'))).toEqual([])
  await visitor.context.close()
})

test('is in Chinese where the page is, and where the sale asks for nothing there is none', async () => {
  const [asks, not] = [
    await stage.shop.sale(-1_000, [{ units: 3 }], { contactFields: ['phone', 'name'] }),
    await stage.shop.sale(-1_000, [{ units: 3 }]),
  ]
  const visitor = await stage.newVisitor({ locale: 'zh-CN' })
  const page = await visitor.tab(asks.path)
  await button(page, 'live').click()
  await page.locator('form.contact').waitFor()
  expect(await page.locator('form.contact').innerText()).toMatch(/姓名[\s\S]*电话/)
  const other = await visitor.tab(not.path)
  await button(other, 'live').click()
  await other.locator('.button-pay').waitFor()
  expect(await other.locator('.contact').count()).toBe(0)
  await visitor.context.close()
})
