/** A sale with a waiting line, in a real browser: joining, the place, the turn, a missed one, sold out and units that come back. */

import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { barriers, button, type Visitor, type VisitorOptions } from '../harness/browser.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { buyerToken } from '../harness/money.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { pageStage } from './page-shop.ts'

const NO_LIMITS = { RATE_PER_BUYER: 'off', RATE_PER_ADDRESS: 'off', CALLS_PER_ADDRESS: 'off', CALLS_PER_BUYER: 'off' }
const stage = pageStage({ ...NO_LIMITS, BUYER_JWT_SECRET, GUEST_SIGN_IN: 'off' })
const shop = new LineShop(() => stage.shop.url())

/** A device on which this buyer is signed in. */
async function deviceOf(buyer: string, options: VisitorOptions = {}): Promise<Visitor> {
  const visitor = await stage.newVisitor(options)
  const url = `${stage.shop.url()}/api/session`
  const reply = await visitor.context.request.post(url, { headers: { authorization: `Bearer ${buyerToken(buyer)}` } })
  expect(reply.status()).toBe(204)
  return visitor
}

const pathOf = (sale: LineSale) => `/s/${sale.id}`
const line = (page: Page, step: string) => page.locator(`.line[data-step="${step}"]`)
const says = (page: Page, text: string | RegExp) => page.locator('.line').getByText(text).first().waitFor()
/** What a screen reader was given, in order; a change within one turn counts once. */
const listenTo = (page: Page) =>
  page.evaluate(() => {
    const voice = document.querySelector('[data-voice]')!
    const heard: string[] = []
    Object.assign(globalThis, { heard })
    new MutationObserver(() => heard.push(voice.textContent?.trim() ?? '')).observe(voice, {
      childList: true,
      characterData: true,
      subtree: true,
    })
  })
const heard = (page: Page) => page.evaluate('globalThis.heard') as Promise<string[]>
/** Tones that were played. */
const COUNT_TONES = () => {
  Object.assign(globalThis, { tones: 0 })
  const make = AudioContext.prototype.createOscillator
  AudioContext.prototype.createOscillator = function () {
    ;(globalThis as unknown as { tones: number }).tones += 1
    return make.call(this)
  }
}

test('joins with the keyboard when the line opens, is in the same place after a reload and on another device, and buys when let in', async () => {
  const distant = await shop.openSale({ opensInMs: 3_600_000, lineOpensInMs: 3_000_000 })
  const sale = await shop.openSale({ units: 1, opensInMs: 4_500, lineOpensInMs: 4_000 })
  const desk = await deviceOf('ann')
  await desk.context.addInitScript(COUNT_TONES)
  const page = await desk.tab(pathOf(distant))
  await button(page, 'line_before').waitFor()
  await says(page, /^You can join in \d\d:\d\d/)
  expect(await barriers(page)).toEqual([])
  await page.goto(stage.shop.url() + pathOf(sale))
  await button(page, 'join').waitFor()
  await shop.steer(sale, 'pause')
  await shop.join(sale, 'first')
  await listenTo(page)
  await button(page, 'join').focus()
  await page.keyboard.press('Enter')
  await says(page, '1 person ahead of you')
  expect(await page.evaluate('document.activeElement.dataset.state')).toBe('in_line')
  await until('the place is read out', async () => (await heard(page)).some(text => text.includes('1 person ahead')))
  expect(await barriers(page)).toEqual([])
  const { number } = await shop.where(sale, 'ann')
  expect(number).toBe(2)

  const phone = await deviceOf('ann', { viewport: { width: 360, height: 640 }, locale: 'zh-CN', colorScheme: 'dark' })
  const other = await phone.tab(pathOf(sale))
  await says(other, '前面还有 1 人')
  expect(await barriers(other)).toEqual([])
  expect(await other.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)

  await shop.steer(sale, 'resume')
  await shop.isIn(sale, 'first', 'admitted')
  const taken = await shop.order(sale, 'first')
  await says(page, /Sold out for now/)
  await says(other, /暂时售罄/)
  expect(await page.evaluate('globalThis.tones')).toBe(0)
  await shop.till.cancel(taken as never)
  await line(page, 'let_in').waitFor()
  await until('the title says it', async () => (await page.title()).startsWith('Your turn!'))
  expect(await page.evaluate('globalThis.tones')).toBe(3)
  await page
    .locator('.line-clock')
    .filter({ hasText: /^[01]:\d\d left to buy/ })
    .waitFor()
  await until('the turn is read out', async () => (await heard(page)).some(text => text.startsWith('It’s your turn.')))
  expect(await barriers(page)).toEqual([])
  await line(other, 'let_in').waitFor()
  // A closed tab, too, comes back to the turn.
  await page.close()
  const again = await desk.tab(pathOf(sale))
  await button(again, 'live').click()
  await again.locator('.panel-pending').waitFor()
  await other.locator('.panel-pending').waitFor()
  await until('the title is the sale’s again', async () => !(await again.title()).includes('Your turn'))
  expect(await shop.where(sale, 'ann')).toMatchObject({ number: 2, state: 'done' })
  expect([...desk.complaints(), ...phone.complaints()]).toEqual([])
  await desk.context.close()
  await phone.context.close()
}, 300_000)

test('a missed turn is told, and one press joins again at the end; leaving is asked for once more', async () => {
  const sale = await shop.openSale({ units: 5, line: { claimWithinSeconds: 2 } })
  const visitor = await deviceOf('bob')
  const page = await visitor.tab(pathOf(sale))
  await button(page, 'join').click()
  await button(page, 'missed').waitFor()
  await says(page, 'Your turn is over')
  expect(await barriers(page)).toEqual([])
  await shop.steer(sale, 'pause')
  await button(page, 'missed').click()
  await says(page, 'You are next')
  expect(await shop.where(sale, 'bob')).toMatchObject({ number: 2 })
  await page.getByRole('button', { name: 'Leave the line' }).click()
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Stay')
  await page.keyboard.press('Enter')
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Leave the line')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Yes, leave' }).click()
  await button(page, 'join').waitFor()
  expect((await shop.ask('GET', sale, 'bob')).code).toBe('not_in_line')
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
}, 300_000)

test('without a live connection the place is asked for; units that come back are told with the people ahead', async () => {
  const sale = await shop.openSale({ units: 2, line: { claimWithinSeconds: 600 } })
  await shop.steer(sale, 'pause')
  const [buyers, orders]: [string[], unknown[]] = [['one', 'two', 'three'], []]
  for (const buyer of buyers) await shop.join(sale, buyer)
  const visitor = await deviceOf('eve', { cut: true })
  await visitor.context.routeWebSocket('**/api/live', socket => socket.close())
  const page = await visitor.tab(pathOf(sale))
  await button(page, 'join').click()
  await says(page, '3 people ahead of you')
  await shop.steer(sale, 'resume')
  for (const buyer of buyers.slice(0, 2)) {
    await shop.isIn(sale, buyer, 'admitted')
    orders.push(await shop.order(sale, buyer))
  }
  await says(page, /Sold out for now/)
  await says(page, '1 person ahead of you')
  await shop.steer(sale, 'pause')
  for (const order of orders) await shop.till.cancel(order as never)
  await says(page, /units? came back/)
  await says(page, '1 person ahead of you')
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
}, 300_000)

test('who must be verified by the shop is told so, and a stranger is sent to sign in', async () => {
  const sale = await shop.openSale({ line: { claim: 'phone' } })
  const visitor = await deviceOf('kim')
  const page = await visitor.tab(pathOf(sale))
  await button(page, 'join').click()
  const refusal = 'The shop must verify you before you can join this line.'
  await page.locator('.buying .note', { hasText: refusal }).waitFor()
  await page.locator('[data-voice]', { hasText: refusal }).waitFor({ state: 'attached' })
  const stranger = await stage.newVisitor()
  await button(await stranger.tab(pathOf(sale)), 'signed_out').waitFor()
  expect([...visitor.complaints(), ...stranger.complaints()].filter(text => !text.includes('403'))).toEqual([])
  await visitor.context.close()
  await stranger.context.close()
}, 300_000)
