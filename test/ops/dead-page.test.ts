/** Dead letters on the operations page and over the API: the list with reason, item, time and orders, one more try, both languages, roles. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import type { DeadLettersAnswer } from '../../src/wire/dead/dead-shapes.ts'
import { barriers } from '../harness/browser.ts'
import { assertDescribed } from '../harness/described.ts'
import { sql } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { complaintsOf, confirm, type OpsDesk, openOpsDesk, signIn } from './ops-desk.ts'

setDefaultTimeout(300_000)

const TOKENS = { admin: 'a-token-that-may-do-all', viewer: 'a-token-that-only-looks' }
const NOW_MS = Date.UTC(2026, 0, 1)

const playground = new Playground()
let desk: OpsDesk
beforeAll(async () => {
  desk = await openOpsDesk(playground, { ADMIN_TOKENS: `ada:admin:${TOKENS.admin},vera:viewer:${TOKENS.viewer}` })
})
afterAll(() => playground.undo())

let orders = 0
/** A letter of an epoch before the first one: placed again it is born closed, and takes no unit from the sale. */
async function write(item: string, raw?: string): Promise<string> {
  orders += 1
  const ask = {
    order: `${7_310_000_000_000_000 + orders}`,
    buyer: 'ann',
    attempt: 1,
    quantity: 1,
    reservedAtMs: NOW_MS,
  }
  await sql(
    desk.shop.site.server().dataDir,
    'INSERT INTO dead_letters (item, epoch, entry, order_id, raw, why) VALUES ($1, 0, $2, $3, $4, $5)',
    [item, `${orders}-0`, raw === undefined ? ask.order : '', raw ?? JSON.stringify(ask), 'a column was too small'],
  )
  return ask.order
}

async function ask(method: string, path: string, token = TOKENS.admin) {
  const response = await fetch(`${desk.shop.url()}/api/admin/dead${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
  })
  const text = await response.text()
  assertDescribed(method, new URL(response.url).pathname, response.status, response.headers, text)
  return { status: response.status, body: JSON.parse(text) as unknown }
}

test('the API lists them newest first, page by page, shows one with its text, and tries again what has no order', async () => {
  const sale = await desk.shop.sale(-1_000, [{ units: 5 }])
  const item = sale.items[0]!.id
  const order = await write(item)
  await write(item, 'nonsense')
  const { letters, next } = (await ask('GET', '?limit=1')).body as DeadLettersAnswer
  expect(letters).toMatchObject([{ item, why: 'a column was too small', born: [], retryable: false }])
  const older = (await ask('GET', `?limit=1&after=${next}`)).body as DeadLettersAnswer
  expect(older.letters).toMatchObject([{ order, born: [], retryable: true }])
  const [nonsense, letter] = [letters[0]!.id, older.letters[0]!.id]
  expect((await ask('GET', `/${nonsense}`)).body).toMatchObject({ raw: 'nonsense' })

  expect(await ask('POST', `/${letter}/retry`, TOKENS.viewer)).toMatchObject({ status: 403 })
  expect(await ask('POST', `/${nonsense}/retry`)).toMatchObject({ status: 409, body: { code: 'not_retryable' } })
  expect(await ask('POST', '/999999/retry')).toMatchObject({ status: 404 })
  expect((await ask('POST', `/${letter}/retry`)).body).toMatchObject({
    born: [{ id: order, state: 'closed' }],
    retryable: false,
  })
  const again = (await ask('POST', `/${letter}/retry`)).body as { code: string; detail: string }
  expect(again).toMatchObject({ code: 'not_retryable' })
  expect(again.detail).toContain(order)
  const [line] = await sql(
    desk.shop.site.server().dataDir,
    "SELECT by, item FROM audit_log WHERE action = 'dead.retry'",
  )
  expect(line).toMatchObject({ by: 'ada', item })
})

test('an operator sees why, of which item and what became of it, reads its text, and tries it again', async () => {
  const sale = await desk.shop.sale(-1_000, [{ name: 'Broom', units: 5 }])
  const order = await write(sale.items[0]!.id)
  const person = await desk.visitor()
  const page = await person.tab('/ops')
  await signIn(page, TOKENS.admin)
  await page.getByRole('link', { name: 'Dead letters' }).click()
  await page.getByRole('heading', { name: 'Dead letters', level: 1 }).waitFor()
  const row = page.locator('[data-letter]').first()
  await row.locator('a', { hasText: 'Broom' }).waitFor()
  expect(await row.textContent()).toContain('a column was too small')
  expect(await row.textContent()).toContain('No order was born')
  await row.locator('summary').click()
  await row.locator('pre', { hasText: order }).waitFor()
  expect(await barriers(page)).toEqual([])
  await confirm(page, 'retry')
  await page.locator('[data-note=done]', { hasText: 'tried again' }).waitFor()
  await row.locator('[data-born=closed]', { hasText: order }).waitFor()
  expect(await row.locator('[data-action=retry]').count()).toBe(0)
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('a viewer sees the list without buttons, on a phone, in Chinese', async () => {
  const sale = await desk.shop.sale(-1_000, [{ units: 5 }])
  await write(sale.items[0]!.id)
  const person = await desk.visitor({ locale: 'zh-CN', viewport: { width: 360, height: 740 } })
  const page = await person.tab('/ops/dead')
  await page.locator('input[name=token]').fill(TOKENS.viewer)
  await page.locator('.sign-in button').click()
  await page.getByRole('heading', { name: '死信', level: 1 }).waitFor()
  await page.locator('[data-born=none]', { hasText: '没有产生订单' }).first().waitFor()
  expect(await page.locator('[data-action=retry]').count()).toBe(0)
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})
