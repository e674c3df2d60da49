/** The operations page shows an operator only what the role allows; the server refuses the rest in any case (`test/operator-roles.test.ts`). */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { barriers } from '../harness/browser.ts'
import { Playground } from '../harness/playground.ts'
import { answer, openReceiver, type WebhookReceiver } from '../harness/webhook-receiver.ts'
import { complaintsOf, type OpsDesk, openOpsDesk, signIn } from './ops-desk.ts'

const TOKENS = { viewer: 'a-token-that-only-looks', operator: 'a-token-that-runs-sales' }

const playground = new Playground()
let desk: OpsDesk
let chat: WebhookReceiver
beforeAll(async () => {
  chat = await openReceiver(playground, answer(200, 'ok'))
  desk = await openOpsDesk(playground, {
    ALERT_SLACK_URL: chat.url(),
    ALERT_ALLOW_PRIVATE: '127.0.0.0/8',
    ADMIN_TOKENS: `vera:viewer:${TOKENS.viewer},otto:operator:${TOKENS.operator}`,
  })
})
afterAll(() => playground.undo())

test('who may only look sees everything and no button that changes something; who runs sales sees the buttons', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 5 }])
  await desk.shop.take(sale, 'ann', 1)
  const [order] = await desk.shop.orders(sale)
  for (const [role, shown] of [
    ['viewer', false],
    ['operator', true],
  ] as const) {
    const person = await desk.visitor()
    const page = await person.tab('/ops')
    await signIn(page, TOKENS[role])
    await page.locator('.sale-row').first().waitFor()
    expect(await page.getByRole('link', { name: 'New sale' }).count()).toBe(shown ? 1 : 0)
    expect(await page.getByRole('button', { name: 'Sign out' }).getAttribute('title')).toContain(role)
    expect(await page.locator('[data-who]').textContent()).toBe(`${shown ? 'otto' : 'vera'} (${role})`)

    await page.goto(`${desk.shop.url()}/ops/sales/${sale.id}`)
    await page.locator('.pieces').waitFor()
    const buttons = ['pause', 'end', 'reconcile', 'stock']
    for (const action of buttons)
      expect([role, action, await page.locator(`[data-action=${action}]`).count()]).toEqual([
        role,
        action,
        shown ? 1 : 0,
      ])
    expect(await page.getByRole('link', { name: 'Orders' }).count()).toBe(1)

    await page.goto(`${desk.shop.url()}/ops/orders/${order!.id}`)
    await page.locator('.badge-order-pending').waitFor()
    expect(await page.locator('[data-action=cancel]').count()).toBe(shown ? 1 : 0)

    await page.goto(`${desk.shop.url()}/ops/alerts`)
    await page.locator('[data-channel=slack]').waitFor()
    expect(await page.locator('[data-test-alerts]').count()).toBe(shown ? 1 : 0)
    if (shown) {
      await page.locator('[data-test-alerts]').click()
      await page.getByText('Slack: arrived after').waitFor()
      expect(JSON.parse(chat.received.at(-1)!.body).text).toContain('Test: alerts arrive')
    }
    expect(await barriers(page)).toEqual([])

    await page.goto(`${desk.shop.url()}/ops/new`)
    await page.locator(shown ? '.sale-form' : '[data-not-allowed]').waitFor()
    expect(await barriers(page)).toEqual([])
    expect(complaintsOf(person)).toEqual([])
    await person.context.close()
  }
}, 300_000)
