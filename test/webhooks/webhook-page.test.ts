/** Webhooks on the operations page: add, test, deliveries with answers, send again; with a keyboard, on a phone, in both languages. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { barriers, type Visitor } from '../harness/browser.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { answer, openReceiver } from '../harness/webhook-receiver.ts'
import { complaintsOf, type OpsDesk, openOpsDesk } from '../ops/ops-desk.ts'
import { verified, WebhookDesk } from './webhook-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let ops: OpsDesk
let shop: Shop
let desk: WebhookDesk

beforeAll(async () => {
  const env = {
    BUYER_JWT_SECRET,
    GUEST_SIGN_IN: 'off',
    WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8',
    WEBHOOK_RETRY_SECONDS: '1',
  }
  ops = await openOpsDesk(playground, env)
  shop = new Shop(() => ops.shop.url())
  desk = new WebhookDesk(() => ops.shop.url())
})
afterAll(() => playground.undo())

/** A browser says when a call was refused: the tests ask for that. */
const complaints = (person: Visitor) => complaintsOf(person)

test('an admin adds a webhook, sees its secret once, tests it, reads what failed and sends it again', async () => {
  const receiver = await openReceiver(playground, answer(503, 'closed for stocktaking'))
  const { person, page } = await ops.operator('/ops')
  await page.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.locator('[data-action=add]').click()
  await page.locator('dialog [name=url]').fill('https://10.0.0.1/')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('dialog .refused').waitFor()
  expect(await page.locator('dialog [name=url]').getAttribute('aria-invalid')).toBe('true')
  expect(await barriers(page)).toEqual([])
  await page.locator('dialog [name=url]').fill(receiver.url())
  await page.locator('dialog [name=about]').fill('parcels')
  await page.locator('dialog [name="stampede.order.placed"]').check()
  await page.locator('dialog button[type=submit]').click()
  const secret = (await page.locator('#webhook-secret').textContent()) ?? ''
  expect(secret).toStartWith('whsec_')
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.locator('#webhook-secret').waitFor({ state: 'detached' })
  await page.reload()
  await page.locator('.sale-row', { hasText: 'parcels' }).click()
  await page.getByRole('heading', { name: 'parcels', level: 1 }).waitFor()
  expect(await page.content()).not.toContain('whsec_')

  await page.locator('[data-action=test]').click()
  await page.locator('[data-note=failed]', { hasText: 'HTTP 503' }).waitFor()
  const sale = await shop.openSale(-1_000, [{ units: 5 }])
  await shop.order(await shop.ticket('ann', sale.id, sale.items[0]!.id), 1)
  const row = page.locator('[data-delivery]').first()
  await page.locator('[data-delivery][data-state=failed]').waitFor()
  await row.locator('summary').click()
  expect(await row.locator('.answer').textContent()).toContain('closed for stocktaking')
  expect(await barriers(page)).toEqual([])

  receiver.answering = answer(200)
  await row.locator('[data-action=resend]').click()
  await page.locator('[data-delivery][data-state=delivered]').waitFor()
  expect(verified(secret, receiver.received.at(-1)!).type).toBe('stampede.order.placed')
  await page.locator('[data-action=test]').click()
  await page.locator('[data-note=done]', { hasText: 'HTTP 200' }).waitFor()

  await page.locator('[data-action=rotate]').click()
  await page.locator('dialog button[type=submit]').click()
  await page.locator('#webhook-secret').waitFor()
  expect(await page.locator('#webhook-secret').textContent()).not.toBe(secret)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.locator('[data-action=state]').click()
  await page.locator('dialog button[type=submit]').click()
  await page.locator('[data-state=off]').waitFor()
  await page.locator('[data-action=remove]').click()
  await page.locator('dialog button[type=submit]').click()
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
  expect(await desk.list()).toEqual([])
  expect(complaints(person)).toEqual([])
  await person.context.close()
})

test('it works with a keyboard alone, on a phone, in Chinese', async () => {
  const receiver = await openReceiver(playground, answer(200, 'ok'))
  const { person, page } = await ops.operator('/ops/webhooks', {
    locale: 'zh-CN',
    viewport: { width: 360, height: 740 },
  })
  await page.getByRole('heading', { name: 'Webhook', level: 1 }).waitFor()
  await page.locator('[data-action=add]').focus()
  await page.keyboard.press('Enter')
  await page.locator('dialog[open]').waitFor()
  await page.locator('dialog [name=url]').focus()
  await page.keyboard.type(receiver.url())
  await page.keyboard.press('Enter')
  await page.locator('#webhook-secret').waitFor()
  await page.locator('#webhook-secret-title:focus').waitFor()
  const made = (await desk.list()).at(-1)
  await page.locator(`[data-webhook="${made!.id}"]`).focus()
  await page.keyboard.press('Enter')
  await page.locator('[data-action=test]').waitFor()
  await page.locator('[data-action=test]').focus()
  await page.keyboard.press('Enter')
  await page.locator('[data-note=done]', { hasText: '测试已送达' }).waitFor()
  const sale = await shop.openSale(-1_000, [{ units: 5 }])
  await shop.order(await shop.ticket('ben', sale.id, sale.items[0]!.id), 1)
  await until('it is delivered', () => receiver.received.some(one => one.body.includes('order.placed')))
  await page.locator('[data-delivery][data-state=delivered]', { hasText: 'order.placed' }).waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  expect(complaints(person)).toEqual([])
  await person.context.close()
  await desk.delete(made!.id)
})
