import { describe, expect, test } from 'bun:test'
import type { Page, Route } from 'playwright-core'
import { barriers, button } from '../harness/browser.ts'
import { sql } from '../harness/money-books.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { pageStage } from './page-shop.ts'

// What a buyer is told after the order was placed, also one who hears the page instead of seeing it.

const stage = pageStage()

/** Nobody waits for it. */
const PAY_WITHIN_S = 200

const focused = (page: Page): Promise<string> =>
  page.evaluate("document.activeElement === document.body ? '' : document.activeElement.textContent.trim()")

/** Every sentence that was said, in turn. */
async function listen(page: Page): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(`{
    const voice = document.querySelector('[data-voice]')
    globalThis.heard = []
    new MutationObserver(() => globalThis.heard.push(voice.textContent.trim()))
      .observe(voice, { subtree: true, childList: true, characterData: true })
  }`)
  return () => page.evaluate('globalThis.heard')
}

async function order(page: Page): Promise<void> {
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
  // Said, and the focus moved, a moment after it is shown: neither may come between what a test does next.
  await page.locator('[data-voice]', { hasText: 'Your order is placed.' }).waitFor({ state: 'attached' })
}

test('says that no payment has arrived when the buyer comes back without one', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }])
  const visitor = await stage.newVisitor()
  const page = await visitor.tab(sale.path)
  await order(page)
  await page.locator('.button-pay').click()
  await page.locator('button.decline').waitFor()
  // Without a decision there.
  await page.goBack()
  await page.locator('.checking').waitFor()
  const heard = await listen(page)
  // Twenty seconds go by.
  await page.evaluate('{ const now = performance.now.bind(performance); performance.now = () => now() + 20_000 }')
  await page.locator('.problem', { hasText: 'No payment has arrived' }).waitFor()
  expect(await page.locator('.checking').count()).toBe(0)
  // Said a moment after it is shown.
  const sentence = 'No payment has arrived. If you did not finish it, pay again.'
  await until('it is said', async () => (await heard()).includes(sentence))
  expect(await barriers(page)).toEqual([])
  await page.locator('.button-pay').click()
  await page.locator('button.approve').click()
  await page.locator('.panel-paid').waitFor()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

test('goes on by keyboard where the time to pay ran out, and says so', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3, payWithinSeconds: PAY_WITHIN_S }])
  const visitor = await stage.newVisitor({ cut: true })
  // The server may close the order in the very moment when its time is up, and then only that is said: the news waits for the first.
  const due = Promise.withResolvers<void>()
  await visitor.context.routeWebSocket(/\/api\/live/, () => {})
  const page = await visitor.tab(sale.path)
  await order(page)
  await page.route(/\/api\/orders/, async route => {
    await due.promise
    await route.continue()
  })
  await page.locator('.button-pay').focus()
  const heard = await listen(page)
  // The time goes by, on this page and in the ledger; the page does not ask what time it is.
  await page.route('**/api/time', route => route.abort())
  await page.evaluate(
    ms =>
      void Object.assign(performance, {
        now: (
          now => () =>
            now() + ms
        )(performance.now.bind(performance)),
      }),
    PAY_WITHIN_S * 1000,
  )
  await until('the time is up', async () => (await heard()).length > 0)
  const [placed] = await stage.shop.orders(sale)
  const { dataDir } = stage.shop.site.server()
  await sql(dataDir, 'UPDATE orders SET pay_by = clock_timestamp() WHERE id = $1', [placed?.id])
  due.resolve()
  await page.locator('.last-order').waitFor()
  await until('the focus on what became of it', async () => (await focused(page)).startsWith('Your last order'))
  await until('both said', async () => (await heard()).length >= 2)
  expect((await heard()).slice(0, 2)).toEqual([
    'The time to pay is up. The order is being closed…',
    'Your last order: not paid in time.',
  ])
  await page.keyboard.press('Tab')
  expect(await focused(page)).toBe('See the order')
  await visitor.context.close()
})

test('keeps the keyboard’s place on the order’s own page, and does not say that the buyer cancelled what the shop did', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 5, quantityMax: 2 }])
  const visitor = await stage.newVisitor()
  const page = await visitor.tab(sale.path)
  await page.getByRole('button', { name: 'One more' }).click()
  await order(page)
  await page.getByText('See the order').click()
  await page.getByRole('button', { name: 'Cancel order' }).click()
  await page.getByText('The units go back on sale.').waitFor()
  await until('the focus on the harmless answer', async () => (await focused(page)) === 'Keep it')
  const [placed] = await stage.shop.orders(sale)
  await stage.shop.till.operator('POST', `/orders/${placed?.id}/cancel`)
  await page.getByText('This order was cancelled. The units went back on sale.').waitFor()
  await until('the focus on the heading', async () => (await focused(page)) === 'Cancelled')
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

test('lowers a quantity that is no longer there and says so; what is on its way can’t be changed', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 2, quantityMax: 2 }])
  const visitor = await stage.newVisitor({ cut: true })
  const page = await visitor.tab(sale.path)
  await button(page, 'live').waitFor()
  const held: Route[] = []
  await page.route(/\/items\/\d+\/orders$/, route => void held.push(route))
  await page.getByRole('button', { name: 'One more' }).click()
  const heard = await listen(page)
  const said = async () => (await heard()).filter(sentence => sentence.includes('was lowered'))
  for (let round = 0; round < 2; round++) {
    await button(page, 'live').click()
    await button(page, 'sending').waitFor()
    for (const name of ['One less', 'One more'])
      expect(await page.getByRole('button', { name }).getAttribute('aria-disabled')).toBe('true')
    // The button shows it before the request has come as far as here.
    await until('the order on its way', () => held.length > 0)
    const json = { code: 'not_enough', title: 'Not enough', status: 409, left: 1 }
    // Looked for from before it can be there: it is shown for three seconds.
    const shown = page.getByText('The quantity was lowered.').first().waitFor()
    await Promise.all([
      shown,
      held.splice(0).at(-1)?.fulfill({ status: 409, json, contentType: 'application/problem+json' }),
    ])
    await until('it is said', async () => (await said()).length === round + 1)
  }
  await visitor.context.close()
})

test('says a sentence again that was said before', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }])
  const visitor = await stage.newVisitor({ cut: true })
  const page = await visitor.tab(sale.path)
  await order(page)
  await page.route('**/payment', route => route.fulfill({ status: 404, json: { code: 'not_found', status: 404 } }))
  const heard = await listen(page)
  for (let round = 1; round <= 2; round++) {
    await page.locator('.button-pay').click()
    await until('the sentence', async () => (await heard()).length === round)
  }
  expect(new Set(await heard())).toEqual(new Set(['The pay page could not be opened. Try again.']))
  await visitor.context.close()
})

describe('where payments are not set up', () => {
  // With a shop's key no provider is on by itself.
  const shop = pageStage({ BUYER_JWT_SECRET, PAYMENT_PROVIDERS: '' })

  test('says that they are not, and does not ask the buyer to try again', async () => {
    const sale = await shop.shop.sale(-1_000, [{ units: 3 }])
    const visitor = await shop.newVisitor()
    const page = await visitor.tab(sale.path)
    await order(page)
    const heard = await listen(page)
    await page.locator('.button-pay').click()
    const sentence = 'This shop has not set up payments here. Please ask the shop.'
    await page.locator('.problem', { hasText: sentence }).waitFor()
    await until('it is said', async () => (await heard()).includes(sentence))
    expect(await page.getByText('Try again').count()).toBe(0)
    expect(await barriers(page)).toEqual([])
    await page.getByRole('button', { name: '切换到中文' }).click()
    await page.locator('.problem', { hasText: '商店尚未在此开通支付' }).waitFor()
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })
})
