/** The waiting line on the operations page: its figures, its rate, pause and resume, a draw and its beacon; on a phone, in Chinese, and for a viewer. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import type { OperatorSaleAnswer } from '../../src/wire/answers.ts'
import { barriers } from '../harness/browser.ts'
import { type LineSale, LineShop } from '../harness/line-shop.ts'
import { Playground } from '../harness/playground.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { complaintsOf, type OpsDesk, openOpsDesk, signIn } from './ops-desk.ts'

setDefaultTimeout(300_000)

const VIEWER = 'a-token-that-only-looks'
const playground = new Playground()
let desk: OpsDesk
let shop: LineShop
beforeAll(async () => {
  desk = await openOpsDesk(playground, {
    BUYER_JWT_SECRET,
    GUEST_SIGN_IN: 'off',
    ADMIN_TOKENS: `vera:viewer:${VIEWER}`,
    RATE_PER_ADDRESS: 'off',
    CALLS_PER_ADDRESS: 'off',
  })
  shop = new LineShop(() => desk.shop.url())
})
afterAll(() => playground.undo())

const path = (sale: LineSale) => `/ops/sales/${sale.id}`
/** Waits until a figure of the line is shown. */
const figure = (page: Page, name: string, value: string) =>
  page
    .locator(`[data-figure=${name}] dd`)
    .filter({ hasText: new RegExp(`^${value}$`) })
    .waitFor()
const lineOf = async (sale: LineSale) =>
  (await shop.till.operator('GET', `/sales/${sale.id}`)).line as { rate: unknown; paused?: boolean }

/** Pictures for those who look: named by the environment, none by default. */
async function keep(page: Page, name: string): Promise<void> {
  const folder = process.env.PICTURES
  if (folder !== undefined) writeFileSync(`${folder}/${name}.png`, await page.screenshot({ fullPage: true }))
}

test('an operator sees who waits, was let in, ordered and came too late, sets the rate by keyboard, pauses and resumes', async () => {
  const sale = await shop.openSale({ units: 20, line: { claimWithinSeconds: 2 } })
  await shop.steer(sale, 'pause')
  for (let i = 0; i < 12; i++) await shop.join(sale, `buyer-${i}`)
  const { person, page } = await desk.operator(path(sale))
  await figure(page, 'waiting', '12')
  await figure(page, 'letIn', '0')
  expect(await barriers(page)).toEqual([])

  // At 10 a second, the first stop of the slider, two steps up are 50.
  await page.locator('[name=auto]').uncheck()
  const slider = page.getByRole('slider', { name: 'How many are let in per second' })
  await slider.focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  expect(await slider.getAttribute('aria-valuetext')).toBe('50 people a second')
  await page.locator('[data-action=line-rate]').click()
  await page.getByText('The line lets people in at this rate: 50 people a second.').waitFor()
  expect(await lineOf(sale)).toMatchObject({ rate: 50, paused: true })

  await page.locator('[data-action=line-resume]').click()
  await page.locator('[data-action=line-pause]').waitFor()
  await shop.isIn(sale, 'buyer-0', 'admitted')
  await shop.order(sale, 'buyer-0')
  await figure(page, 'letIn', '12')
  await figure(page, 'ordered', '1')
  await figure(page, 'missed', '11')
  await page.locator('[data-action=line-pause]').click()
  await page.locator('[data-paused=true]').waitFor()
  // Who comes back is late no longer.
  expect((await shop.join(sale, 'buyer-1')).number).toBe(13)
  await figure(page, 'missed', '10')
  expect((await lineOf(sale)).paused).toBe(true)
  await page.locator('[name=auto]').check()
  await page.locator('[data-action=line-rate]').click()
  await page.getByText('The line lets people in at this rate: automatic.').waitFor()
  expect((await lineOf(sale)).rate).toBe('auto')
  expect(await barriers(page)).toEqual([])
  await keep(page, 'line-running')
  const watched = await shop.till.operator('GET', `/sales/${sale.id}/line`)
  expect(watched).toMatchObject({ joined: 12, letIn: 11, ordered: 1, order: 'arrival', state: 'letting_in' })
  expect((watched.curve as unknown[]).length).toBeGreaterThan(0)
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('a draw shows its seal, waits for the beacon that the operator enters, and is drawn', async () => {
  const sealsAt = toRfc3339(systemClock.now() + 4_000)
  const beacon = { source: 'the numbers of a public lottery on Friday' }
  const sale = await shop.openSale({ opensInMs: 600_000, line: { order: 'draw', sealsAt, beacon } })
  for (let i = 0; i < 5; i++) await shop.join(sale, `drawn-${i}`)
  const { person, page } = await desk.operator(path(sale))
  await page.locator('[data-beacon=to_enter]').waitFor()
  await page.getByText(beacon.source).first().waitFor()
  expect(await barriers(page)).toEqual([])
  await page.locator('[data-action=beacon]').click()
  await page.locator('dialog [name=value]').fill('')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('dialog .refused').waitFor()
  expect(await barriers(page)).toEqual([])
  await page.locator('dialog [name=value]').fill(' 4 8 15 ')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('[data-beacon=known]').waitFor()
  await page.locator('[data-line=drawn]').waitFor()
  await page.getByText(`${beacon.source} · 4 8 15. Its value is known.`).waitFor()
  const { line } = (await shop.till.operator('GET', `/sales/${sale.id}`)) as { line?: { root?: string } }
  await page.getByText(line!.root!).waitFor()
  await keep(page, 'line-drawn')
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('a viewer sees the line and can change nothing; it fits on a phone, in Chinese', async () => {
  const sealsAt = toRfc3339(systemClock.now() + 500)
  const sale = await shop.openSale({
    opensInMs: 600_000,
    line: { order: 'draw', sealsAt, beacon: { source: 'a lottery' } },
  })
  const phone = await desk.visitor({ locale: 'zh-CN', viewport: { width: 360, height: 740 } })
  const page = await phone.tab('/ops')
  await signIn(page, VIEWER)
  await page.locator('.sign-in').waitFor({ state: 'detached' })
  await page.goto(`${desk.shop.url()}${path(sale)}`)
  await page.locator('[data-beacon=to_enter]').waitFor()
  await page.getByRole('heading', { name: '排队' }).waitFor()
  expect(await page.locator('.line-panel button, .line-panel input').count()).toBe(0)
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  await keep(page, 'line-phone')
  expect(complaintsOf(phone)).toEqual([])
  await phone.context.close()

  const asViewer = (method: string, what: string) =>
    fetch(`${desk.shop.url()}/api/admin/sales/${sale.id}/line${what}`, {
      method,
      headers: { authorization: `Bearer ${VIEWER}` },
      ...(method === 'POST' && { body: JSON.stringify(what === '/beacon' ? { value: '1' } : { rate: 5 }) }),
    }).then(response => response.status)
  expect(await asViewer('GET', '')).toBe(200)
  for (const what of ['/rate', '/pause', '/resume', '/beacon'])
    expect([what, await asViewer('POST', what)]).toEqual([what, 403])
})

test('the form of a sale makes a line or a draw, shows it again, and takes it away', async () => {
  const { person, page } = await desk.operator('/ops/new')
  await page.locator('[name=name]').fill('Saturday')
  await page.locator('[name="items.0.name"]').fill('Kettle')
  await page.locator('[name="items.0.price"]').fill('1')
  await page.locator('details summary').filter({ hasText: 'Waiting line or draw' }).click()
  await page.locator('[name="line.order"]').selectOption('draw')
  await page.locator('[name="line.rate"]').fill('fast')
  await page.getByRole('button', { name: 'Create draft' }).click()
  await page.getByText('Write auto, or a number').waitFor()
  expect(await barriers(page)).toEqual([])
  await keep(page, 'line-form')
  await page.locator('[name="line.rate"]').fill('0.5')
  await page.locator('[name="line.claim"]').fill('phone')
  // What the server refuses stands at its field: a line that opens with the sale leaves no time for a seal.
  await page.getByRole('button', { name: 'Create draft' }).click()
  await page
    .locator('.field', { has: page.locator('[name="line.sealsAt"]') })
    .locator('.refused')
    .waitFor()
  const opensAt = await page.locator('[name=opensAt]').inputValue()
  const beforeIt = new Date(Date.parse(`${opensAt}Z`) - 20 * 60_000).toISOString().slice(0, 19)
  await page.locator('[name="line.opensAt"]').fill(beforeIt)
  await page.getByRole('button', { name: 'Create draft' }).click()
  await page.waitForURL(/\/ops\/sales\/\d+$/)
  const id = new URL(page.url()).pathname.split('/').at(-1)!
  const sale = async () => (await shop.till.operator('GET', `/sales/${id}`)) as unknown as OperatorSaleAnswer
  expect(await sale()).toMatchObject({
    rule: 'draw',
    line: { order: 'draw', rate: 0.5, claimWithinSeconds: 120, beacon: { source: 'drand' }, claim: 'phone' },
  })

  await page.goto(`${desk.shop.url()}/ops/sales/${id}/edit`)
  await page.locator('[name="line.order"]').selectOption('arrival')
  await page.locator('[name="line.claim"]').fill('')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.waitForURL(/\/ops\/sales\/\d+$/)
  const saved = await sale()
  expect(saved).toMatchObject({ rule: 'first_come', line: { order: 'arrival', rate: 0.5 } })
  expect([saved.line?.claim, saved.line?.beacon, saved.line?.sealsAt]).toEqual([undefined, undefined, undefined])
  await page.goto(`${desk.shop.url()}/ops/sales/${id}/edit`)
  await page.locator('[name="line.order"]').selectOption('')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.waitForURL(/\/ops\/sales\/\d+$/)
  expect((await sale()).line).toBeUndefined()
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('the line’s fields of the form in Chinese on a phone, and read only in a published sale', async () => {
  const sale = await shop.openSale()
  const phone = { locale: 'zh-CN', viewport: { width: 360, height: 740 } }
  const { person, page } = await desk.operator(`${path(sale)}/edit`, phone)
  await page.getByText('排队或抽签').waitFor()
  expect(await page.locator('[name="line.order"]').isDisabled()).toBe(true)
  expect(await page.locator('[name="line.rate"]').getAttribute('readonly')).not.toBeNull()
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  await keep(page, 'line-form-zh')
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})
