/** The operations page when answers fail, refuse, come late or belong to a session that has ended; and what it says then, in both languages. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { en } from '../../web/ops/words/en.ts'
import { payUrlOf, type Till } from '../harness/money.ts'
import { sql } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type WireOrder } from '../harness/shop.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { confirm, type OpsDesk, openOpsDesk, signIn } from './ops-desk.ts'

const playground = new Playground()
let desk: OpsDesk
let shop: Shop
let till: Till

beforeAll(async () => {
  desk = await openOpsDesk(playground, { BUYER_JWT_SECRET, GUEST_SIGN_IN: 'off' })
  shop = new Shop(() => desk.shop.url())
  till = desk.shop.till
})
afterAll(() => playground.undo())

const PHONE = { viewport: { width: 360, height: 740 } }
const fill = (page: Page, name: string, value: string) => page.locator(`[name="${name}"]`).fill(value)
const submit = (page: Page) => page.locator('.sale-form button[type=submit]').click()
const refusal = (page: Page, name: string) => page.locator(`.field:has([name="${name}"]) .refused`)

/** So many answers at this address come from a proxy that has lost the server. */
async function lose(page: Page, path: string, times: number): Promise<void> {
  await page.route(
    `**${path}`,
    route => route.fulfill({ status: 502, contentType: 'text/html', body: 'Bad gateway' }),
    {
      times,
    },
  )
}

async function orderOf(buyer: string, sale: { id: string; items: readonly { id: string }[] }, at = 0) {
  const item = sale.items[at]!.id
  const told = await shop.order(await shop.ticket(buyer, sale.id, item), 1)
  if (told.answer.kind !== 'placed') throw new Error(`not placed: ${told.answer.kind}`)
  return { ...told.answer.order, sale: sale.id, item, buyer } as WireOrder
}

async function draftOf(items: readonly object[], more: object = {}): Promise<{ id: string; items: { id: string }[] }> {
  const price = { amount: 1000, currency: 'CNY' }
  const opensAt = '2098-01-01T00:00:00Z'
  const closesAt = '2099-01-01T00:00:00Z'
  const wish = { name: 'Typo', opensAt, closesAt, items: items.map(item => ({ price, units: 100, ...item })), ...more }
  return (await till.operator('POST', '/sales', wish)) as unknown as { id: string; items: { id: string }[] }
}

test('a draft edited on the form keeps what the form does not show, and loses what was wiped from it', async () => {
  const sale = await draftOf([{ name: 'Pot', sku: 'S1', whenGateDown: 'shut', door: 'ledger', shards: 8 }])
  const stored = async () => {
    const [row] = await sql(
      desk.shop.site.server().dataDir,
      'SELECT when_gate_down, home_door, shards, sku FROM items WHERE id = $1',
      [sale.items[0]!.id],
    )
    return row
  }
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}/edit`)
  await fill(page, 'name', 'No typo')
  await submit(page)
  await page.locator('.badge-draft').waitFor()
  expect(await stored()).toMatchObject({ when_gate_down: 'shut', home_door: 'ledger', shards: 8, sku: 'S1' })
  await page.getByRole('link', { name: 'Edit' }).click()
  await fill(page, 'items.0.sku', '')
  await submit(page)
  await page.locator('.badge-draft').waitFor()
  expect(await stored()).toMatchObject({ when_gate_down: 'shut', home_door: 'ledger', shards: 8, sku: null })

  // Operators can read it where they read the sale; buyers can't.
  await till.operator('POST', `/sales/${sale.id}/publish`)
  const seen = (await till.operator('GET', `/sales/${sale.id}`)) as unknown as { items: object[] }
  expect(seen.items[0]).toMatchObject({ whenGateDown: 'shut', door: 'ledger' })
  const buyers = await (await fetch(`${desk.shop.url()}/api/sales/${sale.id}`)).text()
  expect(buyers).toContain('Pot')
  expect(buyers).not.toMatch(/whenGateDown|"door"/)
  await person.context.close()
}, 300_000)

test('an order and a draft whose answer is lost are asked for again, not called gone', async () => {
  const sale = await shop.openSale(-1000, [{ units: 5 }])
  const order = await orderOf('lost-ada', sale)
  const draft = await draftOf([{ name: 'Pot' }])
  const { person, page } = await desk.operator('/ops')
  for (const [address, path] of [
    [`/ops/orders/${order.id}`, `/api/admin/orders/${order.id}`],
    [`/ops/sales/${draft.id}/edit`, `/api/admin/sales/${draft.id}`],
  ] as const) {
    await lose(page, path, 1)
    await page.route(`**${path}`, route => route.fulfill({ status: 503, json: { code: 'busy', detail: 'Busy.' } }), {
      times: 1,
    })
    await page.goto(desk.shop.url() + address)
    await page.getByRole('heading', { level: 1, name: /^(Order|Edit)/ }).waitFor()
  }
  await page.goto(`${desk.shop.url()}/ops/orders/999999`)
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  await person.context.close()
}, 300_000)

test('an open order shows by itself that it was paid', async () => {
  const sale = await shop.openSale(-1000, [{ units: 5 }])
  const order = await orderOf('paying-ada', sale)
  const { person, page } = await desk.operator(`/ops/orders/${order.id}`)
  await page.locator('.badge-order-pending').waitFor()
  await till.decide(payUrlOf(await till.pay(order)), 'approve')
  await page.locator('.badge-order-paid').waitFor()
  await page.locator('[data-action=refund]').waitFor()
  await person.context.close()
}, 300_000)

test('a gateway’s error at load is not a sign-out, and a sign-out that is lost says so', async () => {
  const { person, page } = await desk.operator('/ops/log')
  await page.getByRole('heading', { name: 'Log', level: 1 }).waitFor()
  // Until it was seen: it asks again after two seconds.
  await lose(page, '/ops/session', 1_000)
  await page.reload()
  await page.getByText('keeps trying').waitFor()
  expect(await page.locator('.sign-in').count()).toBe(0)
  await page.unroute('**/ops/session')
  await page.getByRole('heading', { name: 'Log', level: 1 }).waitFor()
  await lose(page, '/ops/session', 1)
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('[data-note=failed]', { hasText: 'still signed in' }).waitFor()
  await person.context.close()
}, 300_000)

test('what was typed is there again when the session ended meanwhile, and gone when the form was left', async () => {
  const { person, page } = await desk.operator('/ops/new')
  await fill(page, 'name', 'A long evening’s work')
  await fill(page, 'items.0.name', 'Pot')
  await page.getByRole('button', { name: 'Add an item' }).click()
  await fill(page, 'items.1.name', 'Lid')
  // What was typed is kept after the next picture of it.
  await page.evaluate(() => new Promise<void>(done => requestAnimationFrame(() => setTimeout(done))))
  await person.context.clearCookies()
  await page.locator('.sign-in').waitFor()
  await signIn(page)
  for (const [name, value] of [
    ['name', 'A long evening’s work'],
    ['items.0.name', 'Pot'],
    ['items.1.name', 'Lid'],
  ] as const)
    expect(await page.locator(`[name="${name}"]`).inputValue()).toBe(value)
  await page.getByRole('link', { name: 'Not now' }).click()
  await page.getByRole('link', { name: 'New sale' }).click()
  expect(await page.locator('[name=name]').inputValue()).toBe('')
  await person.context.close()
}, 300_000)

test('a refusal of what is not on the form or in the dialog is said all the same', async () => {
  const refuse = (page: Page, path: string, status: number, field: string, detail: string) =>
    page.route(`**${path}`, route => route.fulfill({ status, json: { code: 'body_invalid', field, detail } }), {
      times: 1,
    })
  const draft = await draftOf([{ name: 'Pot' }])
  const { person, page } = await desk.operator(`/ops/sales/${draft.id}/edit`)
  await page.locator('[name=name]').waitFor()
  await refuse(page, `/api/admin/sales/${draft.id}`, 400, 'items.0.shards', '"items.0.shards": is too many.')
  await submit(page)
  await page.locator('.sale-form > [role=alert]', { hasText: 'items.0.shards' }).waitFor()

  const sale = await desk.shop.sale(-1000, [{ units: 3 }])
  await page.goto(`${desk.shop.url()}/ops/sales/${sale.id}`)
  await page.locator('[data-action=stock]').click()
  await fill(page, 'delta', '1')
  await fill(page, 'reason', 'found')
  await refuse(page, '/stock', 409, 'state', 'The sale is over.')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('dialog [role=alert]', { hasText: 'over' }).waitFor()
  await page.locator('dialog button[type=submit]').click()
  await page.locator('[data-note=done]', { hasText: '+1 unit.' }).waitFor()
  await person.context.close()
}, 300_000)

test('the Chinese page refuses in Chinese, without a path of the API', async () => {
  const { person, page } = await desk.operator('/ops/new', { locale: 'zh-CN', ...PHONE })
  await fill(page, 'items.0.price', '1')
  await submit(page)
  expect(await refusal(page, 'name').textContent()).toBe('请填写名称')
  expect(await refusal(page, 'items.0.name').textContent()).toBe('请填写名称')
  await fill(page, 'name', '秋夜')
  await fill(page, 'items.0.name', 'x'.repeat(300))
  await submit(page)
  await until(
    'the length',
    async () => (await refusal(page, 'items.0.name').allTextContents()).join() === '最多 200 个字符',
  )
  await fill(page, 'items.0.name', '壶')
  await fill(page, 'items.0.units', '99999999999')
  await submit(page)
  await until('the units', async () =>
    (await refusal(page, 'items.0.units').allTextContents()).join().startsWith('不能大于 10,000,000'),
  )

  const sale = await desk.shop.sale(-1000, [{ units: 3 }])
  await page.goto(`${desk.shop.url()}/ops/sales/${sale.id}`)
  await page.locator('[data-action=stock]').click()
  await fill(page, 'delta', '0')
  await fill(page, 'reason', '盘点')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('dialog .refused').waitFor()
  expect(await page.locator('dialog .refused').allTextContents()).toEqual(['不能为 0'])
  await fill(page, 'delta', '1')
  await fill(page, 'reason', ' ')
  await page.locator('dialog button[type=submit]').click()
  await until('the reason', async () => (await refusal(page, 'reason').allTextContents()).join() === '不能为空')
  await person.context.close()
}, 300_000)

test('a sale paused before its opening is shown as paused, to come, and not selling', async () => {
  const sale = await desk.shop.sale(600_000, [{ units: 3 }], { name: 'Paused early' })
  await till.operator('POST', `/sales/${sale.id}/warm`)
  await till.operator('POST', `/sales/${sale.id}/pause`)
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.locator('main .title-row .badge-paused').waitFor()
  const actions = await page
    .locator('.actions [data-action]')
    .evaluateAll(all => all.map(one => one.getAttribute('data-action')))
  expect(actions).toEqual(['resume', 'warm', 'reconcile', 'end', 'copy', 'keep'])
  await page.locator('.under-title', { hasText: 'opens in' }).waitFor()
  const here = page.locator('.facts div', { hasText: 'On this server' }).locator('dd')
  await until('ready', async () => (await here.textContent()) === 'ready, not selling now')
  await confirm(page, 'resume')
  await page.locator('main .title-row .badge-scheduled').waitFor()
  // A look that was under way may show it once more as it was.
  await page.locator('[data-action=resume]').waitFor({ state: 'detached' })
  await person.context.close()
}, 300_000)

test('an open sale that is paused does not claim to be selling', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 3 }])
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  const here = page.locator('.facts div', { hasText: 'On this server' }).locator('dd')
  await page.locator('.badge-open').waitFor()
  await until('selling', async () => (await here.textContent()) === 'selling')
  await confirm(page, 'pause')
  await page.locator('.badge-paused').waitFor()
  await until('not selling', async () => (await here.textContent()) === 'ready, not selling now')
  await person.context.close()
}, 300_000)

test('lists say when an ended sale was, and which of two items an order is for', async () => {
  const sale = await shop.openSale(-1000, [{ units: 5 }, { units: 5 }])
  await orderOf('item-ada', sale, 0)
  await orderOf('item-bob', sale, 1)
  const ended = await desk.shop.sale(-1000, [{ units: 3 }], { name: 'Ended by hand' })
  await till.operator('POST', `/sales/${ended.id}/end`)
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}/orders`)
  await page.locator('[data-of-item]').nth(1).waitFor()
  const items = await page
    .locator('[data-of-item]')
    .evaluateAll(all => all.map(one => one.getAttribute('data-of-item')))
  expect(items.toSorted()).toEqual(sale.items.map(({ id }) => id).toSorted())
  await page.goto(`${desk.shop.url()}/ops`)
  const row = page.locator('.sale-row', { hasText: 'Ended by hand' })
  await row.waitFor()
  expect(await row.locator('.soft').first().textContent()).toMatch(/\d\d:\d\d:\d\d/)
  await person.context.close()
}, 300_000)

test('says that a picture from an http address is not shown to buyers', async () => {
  const { person, page } = await desk.operator('/ops/new')
  const hint = page.locator('.field:has([name="items.0.image"]) .hint')
  await fill(page, 'items.0.image', 'http://pictures.example/pot.jpg')
  expect(await hint.textContent()).toContain('https')
  for (const shown of ['https://pictures.example/pot.jpg', '/pot.jpg', `${desk.shop.url()}/pot.jpg`]) {
    await fill(page, 'items.0.image', shown)
    expect(await hint.count()).toBe(0)
  }
  await person.context.close()
})

test('a shut door’s advice stays on a narrow screen, in both languages', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 3 }])
  for (const locale of ['en-GB', 'zh-CN']) {
    const { person, page } = await desk.operator('/ops/log', { locale, ...PHONE })
    const trouble = [{ code: 'door_shut', since: new Date().toISOString(), sale: sale.id, item: sale.items[0]!.id }]
    await page.route('**/api/admin/trouble', route => route.fulfill({ json: { trouble } }))
    const line = page.locator('[data-trouble=door_shut]')
    await line.waitFor()
    const sticksOut = await line.evaluate(one =>
      Array.from(one.querySelectorAll('p')).some(
        p => p.scrollWidth > p.clientWidth || p.getBoundingClientRect().right > innerWidth,
      ),
    )
    expect(sticksOut).toBe(false)
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    await page.unrouteAll({ behavior: 'wait' })
    await person.context.close()
  }
}, 300_000)

test('seconds without requests are gaps in the latency, not slopes, and a second alone is a point', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 3 }])
  const { person, page } = await desk.operator('/ops')
  const nowMs = Date.now()
  const recent = Array.from({ length: 301 }, (_, i) => {
    const ms = i === 100 || i >= 250 ? 50 : null
    const at = new Date(nowMs - (300 - i) * 1000).toISOString()
    return { at, requestsPerSecond: ms === null ? 0 : 1, p50Ms: ms, p99Ms: ms, line: 0 }
  })
  await page.route('**/watch*', async route => {
    const response = await route.fetch()
    const later = route.request().url().includes('after=')
    await route.fulfill({ response, json: { ...(await response.json()), recent: later ? [] : recent } })
  })
  await page.goto(`${desk.shop.url()}/ops/sales/${sale.id}`)
  await page.locator('.curve strong', { hasText: '50 ms' }).first().waitFor()
  // Where the curve is drawn, second by second: p99 is drawn last, over p50.
  const drawn = () =>
    page
      .locator('.plot canvas')
      .nth(1)
      .evaluate(canvas => {
        const { width, height } = canvas as HTMLCanvasElement
        const over = canvas.parentElement!.querySelector<HTMLElement>('.u-over')!
        const scale = width / canvas.clientWidth
        const { data } = (canvas as HTMLCanvasElement).getContext('2d')!.getImageData(0, 0, width, height)
        const has = (second: number) => {
          const x = Math.round((over.offsetLeft + (over.clientWidth * second) / 300) * scale)
          for (let y = 0; y < (over.offsetTop + over.clientHeight) * scale; y++)
            for (const column of [x - 1, x, x + 1]) {
              const [red = 0, green = 0, blue = 0, alpha = 0] = data.slice((y * width + column) * 4)
              if (alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 90) return true
            }
          return false
        }
        return [100, 140, 175, 210, 275].map(has)
      })
  await until('it is drawn', async () => (await drawn())[4] === true)
  expect(await drawn()).toEqual([true, false, false, false, true])
  await page.unrouteAll({ behavior: 'wait' })
  await person.context.close()
}, 300_000)

test('one is one in English', () => {
  expect(en.stockDone('Pot', '+1')).toBe('“Pot”: +1 unit.')
  expect(en.stockDone('Pot', '-11')).toBe('“Pot”: -11 units.')
  expect(en.pageShown('1', '1')).toBe('Page 1 · 1 order')
  expect(en.reconciledFound('1', '0')).toBe('1 difference, 0 repairs')
  expect(en.trouble.unsettled.title('', '1')).toBe('1 reservation waits for the database')
  expect(en.trouble.refunds_stuck.title('', '2')).toBe('2 refunds are not going through')
})
