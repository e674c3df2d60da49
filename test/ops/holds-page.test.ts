/** Unpaid orders on the operations page: from where they came, choosing some, cancelling them together; on a phone, in Chinese. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { barriers } from '../harness/browser.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { complaintsOf, confirm, type OpsDesk, openOpsDesk } from './ops-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let desk: OpsDesk
let till: Till
beforeAll(async () => {
  desk = await openOpsDesk(playground, { TRUSTED_PROXIES: '127.0.0.1,::1' })
  till = new Till(() => desk.shop.url())
})
afterAll(() => playground.undo())

/** Guests of two networks, each with an order that is not paid. */
async function heldSale(guests: number): Promise<string> {
  const opensAtMs = systemClock.now() - 1_000
  const item = { name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 20 }
  const sale = (await till.operator('POST', '/sales', {
    name: 'Friday',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    holds: { perPrefix: 20 },
    items: [item],
  })) as unknown as { id: string; items: { id: string }[] }
  await till.operator('POST', `/sales/${sale.id}/publish`)
  const path = `${desk.shop.url()}/api/sales/${sale.id}/items/${sale.items[0]!.id}`
  const post = async (url: string, token: string, address: string, body = {}) => {
    const headers = { 'x-forwarded-for': address, ...(token !== '' && { authorization: `Bearer ${token}` }) }
    return (await (await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Record<
      string,
      string
    >
  }
  for (let no = 0; no < guests; no++) {
    const address = `203.0.${no % 2}.7`
    const { token } = await post(`${desk.shop.url()}/api/session`, '', address, {
      buyer: `a-guest-with-a-long-name-${no}`,
    })
    const { ticket } = await post(`${path}/ticket`, token!, address)
    expect(await post(`${path}/orders`, ticket!, address)).toMatchObject({ state: 'pending' })
  }
  return sale.id
}

test('an operator sees the networks, chooses the orders of one, and cancels them together', async () => {
  const sale = await heldSale(5)
  const { person, page } = await desk.operator(`/ops/sales/${sale}`)
  await page.getByRole('link', { name: 'Unpaid' }).click()
  await page.locator('[data-group="203.0.0.0/24"]').click()
  await page.waitForFunction(() => document.querySelectorAll('[data-hold]').length === 3)
  expect(await barriers(page)).toEqual([])
  await page.locator('[data-hold] input').first().focus()
  await page.keyboard.press('Space')
  await page.getByRole('button', { name: 'Cancel 1 chosen' }).waitFor()
  await page.locator('[data-action=choose-all]').click()
  expect(await confirm(page, 'cancel-holds')).toBe('Cancel 3 orders?')
  await page.getByText('3 cancelled, 0 not.').waitFor()
  await page.getByRole('button', { name: 'All' }).click()
  await page.waitForFunction(() => document.querySelectorAll('[data-hold]').length === 2)
  expect(await barriers(page)).toEqual([])
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('fits on a phone, in Chinese', async () => {
  const sale = await heldSale(2)
  const { person, page } = await desk.operator(`/ops/sales/${sale}/holds`, {
    locale: 'zh-CN',
    viewport: { width: 360, height: 740 },
  })
  await page.getByRole('heading', { name: '未支付订单', level: 1 }).waitFor()
  await page.locator('[data-hold]').first().waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  await person.context.close()
})

test('the form of a sale sends the limits that are typed, shows them again, and takes away what is cleared', async () => {
  const { person, page } = await desk.operator('/ops/new')
  await page.locator('[name=name]').fill('Saturday')
  await page.locator('[name="items.0.name"]').fill('Kettle')
  await page.locator('[name="items.0.price"]').fill('1')
  await page.locator('details summary').filter({ hasText: 'held unpaid' }).click()
  await page.locator('[name="holds.perBuyer"]').fill('4')
  await page.locator('[name="holds.perClaim"]').fill('phone')
  await page.getByRole('button', { name: 'Create draft' }).click()
  await page.getByText('Write each as its name and a number').waitFor()
  expect(await barriers(page)).toEqual([])
  await page.locator('[name="holds.perClaim"]').fill('phone 6, account: 9')
  await page.getByRole('button', { name: 'Create draft' }).click()
  await page.waitForURL(/\/ops\/sales\/\d+$/)
  const id = new URL(page.url()).pathname.split('/').at(-1)!
  const holds = async () => (await till.operator('GET', `/sales/${id}`)).holds
  expect(await holds()).toEqual({ perBuyer: 4, perClaim: { phone: 6, account: 9 } })

  await page.goto(`${desk.shop.url()}/ops/sales/${id}/edit`)
  await page.waitForFunction(
    () => document.querySelector<HTMLInputElement>('[name="holds.perClaim"]')?.value === 'phone 6, account 9',
  )
  await page.locator('[name="holds.perClaim"]').fill('')
  await page.locator('[name="holds.perBuyer"]').fill('')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.waitForURL(/\/ops\/sales\/\d+$/)
  expect(await holds()).toBeUndefined()
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})
