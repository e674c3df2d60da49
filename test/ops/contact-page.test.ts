/** What a sale asks its buyers for, and its names in another language, chosen on its form; and how a buyer can be reached, on the order. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { barriers } from '../harness/browser.ts'
import { Playground } from '../harness/playground.ts'
import { complaintsOf, type OpsDesk, openOpsDesk } from './ops-desk.ts'

const playground = new Playground()
let desk: OpsDesk
beforeAll(async () => {
  desk = await openOpsDesk(playground)
})
afterAll(() => playground.undo())

test('an operator chooses what buyers are asked for, finds an order by the phone number, and sees contact and metadata as text', async () => {
  const sale = await desk.shop.sale(-1_000, [{ units: 3 }])
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.locator('[name="contactFields.phone"]').check()
  await page.locator('[name="contactFields.address"]').check()
  await page.locator('[name="contactFields.email"]').check()
  await page.locator('[name="contactFields.email"]').uncheck()
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.locator('[data-note=done]').waitFor()
  const { till } = desk.shop
  expect(await till.operator('GET', `/sales/${sale.id}`)).toMatchObject({ contactFields: ['phone', 'address'] })

  const id = await desk.shop.take(sale, 'ann', 1, {
    contact: { phone: '+49 30 901820', address: '1 Main St\n<b>Berlin</b>' },
    metadata: { gift: '<i>yes</i>' },
  })
  expect(await till.operator('GET', '/orders?q=4930901820')).toMatchObject({ orders: [{ id }] })
  const order = await person.tab(`/ops/orders/${id}`)
  const card = order.locator('section', { has: order.locator('#contact') })
  await card.waitFor()
  expect(await card.locator('dd').allInnerTexts()).toEqual(['+49 30 901820', '1 Main St\n<b>Berlin</b>', '<i>yes</i>'])
  expect(await barriers(order)).toEqual([])
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('an operator gives a sale and its item names in another language, and takes one away; a name that is too long is told at its field', async () => {
  const sale = await desk.shop.sale(600_000, [{ units: 3, texts: { en: { name: 'Teapot' } } }])
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.locator('[name="nameZh"]').fill('星期五')
  expect(await page.locator('[name="items.0.nameEn"]').inputValue()).toBe('Teapot')
  await page.locator('[name="items.0.nameEn"]').fill('')
  await page.locator('[name="items.0.nameZh"]').fill('x'.repeat(201))
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.locator('[name="items.0.nameZh"][aria-invalid="true"]').waitFor()
  await page.locator('[name="items.0.nameZh"]').fill('茶壶')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.locator('[data-note=done]').waitFor()
  const names = async () => {
    const { texts, items } = await desk.shop.till.operator('GET', `/sales/${sale.id}`)
    return [texts, (items as { texts?: unknown }[])[0]?.texts]
  }
  expect(await names()).toEqual([{ zh: { name: '星期五' } }, { zh: { name: '茶壶' } }])

  await page.goto(`${desk.shop.url()}/ops/sales/${sale.id}/edit`)
  await page.locator('[name="nameZh"]').fill('')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.locator('[data-note=done]').waitFor()
  expect(await names()).toEqual([undefined, { zh: { name: '茶壶' } }])
  await person.context.close()
})
