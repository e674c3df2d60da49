/** What an operator does with a sale from its draft to its result, by the pages alone. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { barriers, type Visitor } from '../harness/browser.ts'
import { payUrlOf } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type WireOrder } from '../harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { complaintsOf, confirm, type OpsDesk, openOpsDesk, signIn } from './ops-desk.ts'

const VIEWER_TOKEN = 'a-token-that-only-looks'

const playground = new Playground()
let desk: OpsDesk
let shop: Shop
beforeAll(async () => {
  desk = await openOpsDesk(playground, {
    BUYER_JWT_SECRET,
    GUEST_SIGN_IN: 'off',
    ADMIN_TOKENS: `vera:viewer:${VIEWER_TOKEN}`,
  })
  shop = new Shop(() => desk.shop.url())
})
afterAll(() => playground.undo())

async function leave(person: Visitor, page: Page): Promise<void> {
  expect(await barriers(page)).toEqual([])
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
}

/** Of the first item. */
async function take(
  sale: { id: string; items: readonly { id: string }[] },
  buyer: string,
  quantity = 1,
): Promise<WireOrder> {
  const item = sale.items[0]!.id
  const told = await shop.order(await shop.ticket(buyer, sale.id, item), quantity)
  if (told.answer.kind !== 'placed') throw new Error(`not placed: ${told.answer.kind}`)
  return { ...told.answer.order, sale: sale.id, item, buyer } as WireOrder
}

async function pay(order: WireOrder): Promise<void> {
  const { till } = desk.shop
  await till.decide(payUrlOf(await till.pay(order)), 'approve')
  await until('the order is paid', async () => (await till.order(order.id)).state === 'paid')
}

interface WireSale {
  readonly state: string
  readonly name: string
  readonly opensAt: string
  readonly closesAt: string
  readonly items: readonly { readonly id: string; readonly name: string; readonly units: number }[]
}

async function saleOf(id: string): Promise<WireSale> {
  return (await desk.shop.till.operator('GET', `/sales/${id}`)) as unknown as WireSale
}

const field = (page: Page, name: string) => page.locator(`[name="${name}"]`)
const isFixed = (page: Page, name: string) => field(page, name).evaluate(input => (input as HTMLInputElement).readOnly)
const hintOf = (page: Page, name: string) => page.locator(`.field:has([name="${name}"]) .hint`).textContent()

test('changes of a published sale what is safe, says at every other field why it stays, and undoes nobody else’s change', async () => {
  const sale = await desk.shop.sale(3_600_000, [
    { units: 7, name: 'Cup' },
    { units: 5, name: 'Bowl' },
  ])
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.getByRole('link', { name: 'Edit' }).click()
  await field(page, 'name').waitFor()
  expect(await isFixed(page, 'opensAt')).toBe(false)
  for (const fixed of ['price', 'currency', 'units', 'quantityMax', 'attemptsMax']) {
    expect([fixed, await isFixed(page, `items.0.${fixed}`)]).toEqual([fixed, true])
    expect(await hintOf(page, `items.0.${fixed}`)).toMatch(/Stays|Change stock/)
  }
  expect(await page.getByRole('button', { name: /Add an item|Remove item/ }).count()).toBe(0)
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Nothing is changed yet').waitFor()

  // Meanwhile another operator gives the second item another name, and more units to the first.
  const other = { items: [{ id: sale.items[1]!.id, name: 'Deep bowl' }] }
  await desk.shop.till.operator('PATCH', `/sales/${sale.id}`, other)
  const more = { delta: 3, reason: 'a second box' }
  await desk.shop.till.operator('POST', `/sales/${sale.id}/items/${sale.items[0]!.id}/stock`, more)
  await field(page, 'name').fill('Evening of cups')
  await field(page, 'items.0.name').fill('Small cup')
  await field(page, 'closesAt').fill('2099-01-01T00:00:00')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.locator('[data-note=done]', { hasText: 'Evening of cups' }).waitFor()
  const edited = await saleOf(sale.id)
  expect(edited).toMatchObject({ name: 'Evening of cups', opensAt: (await saleOf(sale.id)).opensAt })
  expect(edited.items.map(({ name, units }) => [name, units])).toEqual([
    ['Small cup', 10],
    ['Deep bowl', 5],
  ])
  expect(Date.parse(edited.closesAt)).toBeGreaterThan(Date.UTC(2098, 11, 30))

  // What becomes fixed while the form is open is refused by the server, at the field.
  await page.getByRole('link', { name: 'Edit' }).click()
  await field(page, 'opensAt').fill('2098-01-01T00:00:00')
  await desk.shop.openIn(sale, 300)
  await until('it is open', async () => (await saleOf(sale.id)).state === 'open')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.locator('.field:has([name=opensAt]) .refused', { hasText: 'has opened' }).waitFor()
  await page.reload()
  await field(page, 'opensAt').waitFor()
  expect(await isFixed(page, 'opensAt')).toBe(true)
  expect(await hintOf(page, 'opensAt')).toContain('has opened')
  await leave(person, page)
}, 300_000)

test('copies a sale into a draft with a window of its own, and keeps a template that is never published', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 7, name: 'Cup', quantityMax: 2 }], { name: 'Every Friday' })
  await take(sale, 'ann')
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.locator('[data-action=keep]').click()
  await field(page, 'copy.name').fill('Our Friday')
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Save the template' }).click()
  await page.locator('[data-note=done]', { hasText: 'Our Friday' }).waitFor()
  await page.waitForURL(url => url.pathname !== `/ops/sales/${sale.id}`)
  const template = new URL(page.url()).pathname.split('/').at(-1) ?? ''
  await page.locator('.badge', { hasText: 'Template' }).waitFor()
  expect(await page.locator('[data-action=publish]').count()).toBe(0)
  const refused = await fetch(`${desk.shop.url()}/api/admin/sales/${template}/publish`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  expect([refused.status, ((await refused.json()) as { field: string }).field]).toEqual([409, 'template'])

  // Edited, it stays a template; a sale made from it is an ordinary draft, made once however often the button is pressed.
  await desk.shop.till.operator('PATCH', `/sales/${template}`, { challenge: 'auto' })
  expect(await saleOf(template)).toMatchObject({ template: true, challenge: 'auto' })
  await page.locator('[data-action=copy]').click()
  await field(page, 'copy.opensAt').fill('2097-01-01T10:00:00')
  await page.getByRole('button', { name: 'Make the draft' }).click()
  await page.waitForURL(/\/edit$/)
  const copy = new URL(page.url()).pathname.split('/').at(-2) ?? ''
  const [made, original] = [await saleOf(copy), await saleOf(sale.id)]
  expect(made).toMatchObject({ state: 'draft', name: 'Our Friday', challenge: 'auto' })
  expect(made).not.toHaveProperty('template')
  expect(made.items[0]).toMatchObject({ name: 'Cup', units: 7, left: 7, quantityMax: 2 })
  expect(Date.parse(made.closesAt) - Date.parse(made.opensAt)).toBe(
    Date.parse(original.closesAt) - Date.parse(original.opensAt),
  )
  await page.getByRole('link', { name: 'Sales', exact: true }).click()
  await page.getByRole('heading', { name: 'Templates' }).waitFor()
  expect(await page.locator(`.group:has(h2:text-is("Templates")) a[href="/ops/sales/${template}"]`).count()).toBe(1)
  await leave(person, page)
}, 300_000)

test('shows a draft as buyers would see it to operators alone, clearly marked, with nothing that can be bought', async () => {
  const draft = await desk.shop.till.operator('POST', '/sales', {
    name: 'Secret evening',
    opensAt: '2098-01-01T10:00:00Z',
    closesAt: '2098-01-01T12:00:00Z',
    items: [{ name: 'Secret teapot', units: 3, quantityMax: 2, price: { amount: 199_900, currency: 'CNY' } }],
  })
  const { person, page } = await desk.operator(`/ops/sales/${draft.id}`)
  const asked: string[] = []
  page.on('request', request => asked.push(`${request.method()} ${new URL(request.url()).pathname}`))
  await page.getByRole('link', { name: 'Preview' }).click()
  await page.getByRole('heading', { name: 'Secret teapot' }).waitFor()
  await page.getByText('Only operators see this').waitFor()
  for (const [as, button] of [
    ['before the opening', 'Not open yet'],
    ['sold out', 'Sold out'],
    ['over', 'This sale is over'],
    ['open', 'Buy now'],
  ] as const) {
    await page.getByLabel(as, { exact: true }).check()
    await page.getByRole('button', { name: button }).waitFor()
    expect(await barriers(page)).toEqual([])
  }
  await page.getByRole('button', { name: 'Buy now' }).click()
  await page.getByRole('button', { name: 'Buy now' }).focus()
  await page.keyboard.press('Enter')
  expect(asked.filter(one => !one.startsWith('GET '))).toEqual([])
  expect(asked.filter(one => one.includes('ticket'))).toEqual([])
  await leave(person, page)

  const stranger = await desk.visitor()
  const theirs = await stranger.tab(`/ops/sales/${draft.id}/preview`)
  await theirs.getByText('Sign in on the operations page first').waitFor()
  expect(await theirs.content()).not.toContain('Secret')
  const source = await fetch(`${desk.shop.url()}/ops/sales/${draft.id}/preview`)
  expect(await source.text()).not.toContain('Secret')
  await stranger.context.close()
}, 300_000)

test('the result of a sale says so far what the ledger says, and is final when it is over and paid or given up', async () => {
  const { till } = desk.shop
  const sale = await desk.shop.sale(
    -1000,
    [
      { units: 5, price: 1000, quantityMax: 2 },
      { units: 4, name: 'Bowl' },
    ],
    {
      name: 'The counted sale',
    },
  )
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.getByRole('link', { name: 'Result' }).click()
  await page.locator('[data-result=so-far]').waitFor()
  await page.getByText('No order is paid yet').waitFor()

  const orders: WireOrder[] = []
  for (const [buyer, quantity] of [
    ['ann', 2],
    ['ben', 1],
    ['cyn', 1],
    ['dan', 1],
  ] as const)
    orders.push(await take(sale, buyer, quantity))
  const [ann, ben, cyn, dan] = orders
  for (const order of [ann!, ben!, cyn!]) await pay(order)
  await till.cancel(dan!)
  await till.operator('POST', `/orders/${cyn!.id}/refund`, { restock: false })
  await till.operator('POST', `/orders/${ann!.id}/refund`, { amount: { amount: 300, currency: 'CNY' } })

  const total = (name: string) => page.locator(`[data-total=${name}] dd`).textContent()
  await until('all of it is shown', async () => (await total('refunded'))?.includes('13') ?? false)
  // What went back without its unit is not on sale any more.
  expect(await total('sold')).toContain('3 of 8')
  expect(await total('revenue')).toContain('27')
  expect(await total('lost')).toContain('1 cancelled')
  expect(await page.locator('[data-minute]').getAttribute('data-minute')).toBe('5')
  expect(await page.locator('[data-waited=paid] td').last().textContent()).toBe('3')
  expect(await page.locator('[data-order]').count()).toBe(2)
  await page.locator('[data-step=placed][data-count="4"]').waitFor()
  expect(await barriers(page)).toEqual([])

  await till.operator('POST', `/sales/${sale.id}/end`)
  await page.locator('[data-result=final]').waitFor()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download result' }).click(),
  ])
  const lines = (await Bun.file((await file.path()) ?? '').text()).trim().split('\r\n')
  expect(lines.length).toBe(3)
  expect(lines[1]).toContain(',4,3,0,4,2,0,1,0,1,0,27.00,13.00,CNY')
  await leave(person, page)
}, 300_000)

test('says in words what was done and what could not be taken; how the server does it stands behind “Details”', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 5, name: 'Cup' }], { name: 'Wordy evening' })
  await pay(await take(sale, 'ann'))
  await take(sale, 'ben')
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.locator('[data-units="5 3 1 1 0"]').waitFor()
  const shown = await page.locator('main').innerText()
  expect(shown).not.toMatch(/\b(gate|door|epoch|ledger|edge|outbox|process)\b/i)
  await page.locator('.item details summary').click()
  expect(await page.locator('.item .facts').innerText()).toMatch(/Door[\s\S]*Epoch/)

  await page.locator('[data-action=stock]').click()
  expect(await hintOf(page, 'delta')).toBe('Now 3 left, 1 sold, 1 held unpaid.')
  await field(page, 'delta').fill('-50')
  await field(page, 'reason').fill('a broken box')
  await page.locator('dialog button[type=submit]').click()
  const note = page.locator('[data-note=done]', { hasText: 'could not be taken' })
  await note.waitFor()
  expect(await note.innerText()).toContain('47 could not be taken: 3 were left, 1 is sold, 1 held unpaid.')

  await desk.shop.till.operator('PATCH', `/sales/${sale.id}`, { name: 'Quiet evening' })
  await page.getByRole('link', { name: 'The whole log' }).click()
  const line = (action: string) =>
    page.locator(`tr[data-did="${action}"]`, { has: page.locator(`a[href="/ops/sales/${sale.id}"]`) }).first()
  await line('stock.change').getByText('Changed the stock').waitFor()
  await line('stock.change').getByText('Cup · -50 · a broken box').waitFor()
  await line('sale.edit').getByText('name: “Wordy evening” → “Quiet evening”').waitFor()
  await line('sale.publish').getByText('Published').waitFor()
  await leave(person, page)
}, 300_000)

test('a day: draft, preview, publish, edit, the sale, its result, search, refund, export; who may only look sees it all', async () => {
  const { person, page } = await desk.operator('/ops')
  const noted = (said: string) => page.locator('[data-note=done]', { hasText: said }).waitFor()
  await page.getByRole('link', { name: 'New sale' }).click()
  await field(page, 'name').fill('Lantern night')
  await field(page, 'opensAt').fill('2026-01-01T00:00:00')
  await field(page, 'closesAt').fill('2098-01-01T00:00:00')
  await field(page, 'items.0.name').fill('Paper lantern')
  await field(page, 'items.0.price').fill('12.50')
  await field(page, 'items.0.units').fill('4')
  await page.getByRole('button', { name: 'Create draft' }).click()
  await noted('Lantern night')
  await page.waitForURL(/\/ops\/sales\/\d+$/)
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? ''

  await page.getByRole('link', { name: 'Preview' }).click()
  await page.getByLabel('open', { exact: true }).check()
  await page.getByRole('button', { name: 'Buy now' }).waitFor()
  await page.getByRole('link', { name: 'Back to the sale' }).click()
  expect(await confirm(page, 'publish')).toContain('Lantern night')
  await page.locator('.badge-open').waitFor()

  await page.getByRole('link', { name: 'Edit' }).click()
  expect(await isFixed(page, 'items.0.price')).toBe(true)
  await field(page, 'items.0.name').fill('Paper lantern, red')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await noted('Lantern night')

  const sale = { id, items: (await saleOf(id)).items }
  for (const buyer of ['ann', 'ben']) await pay(await take(sale, buyer))
  await take(sale, 'cyn')
  await page.locator('[data-units="4 1 1 2 0"]').waitFor()
  expect(await confirm(page, 'end')).toContain('for good')
  await page.locator('.badge-over').waitFor()
  await page.getByRole('link', { name: 'Result' }).click()
  await page.locator('[data-total=sold]', { hasText: '2 of 4' }).waitFor()
  await page.locator('[data-total=revenue]', { hasText: '25' }).waitFor()

  await page.getByRole('link', { name: 'All orders' }).click()
  await field(page, 'search').fill('ben')
  await page.getByRole('button', { name: 'Find', exact: true }).click()
  await until('ben alone', async () => (await page.locator('[data-order]').count()) === 1)
  await page.locator('[data-order] a').click()
  await page.locator('[data-action=refund]').click()
  await field(page, 'reason').fill('it was torn')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('.history').getByText('Refunded the order').waitFor()
  await page.getByRole('link', { name: 'All orders of this sale' }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  const lines = (await Bun.file((await file.path()) ?? '').text()).trim().split('\r\n')
  expect(lines.length).toBe(4)
  expect(lines.filter(line => line.includes('refunded')).length).toBe(1)
  await page.goto(`${desk.shop.url()}/ops/sales/${id}/result`)
  await page.locator('[data-total=refunded]', { hasText: '12.5' }).waitFor()
  await leave(person, page)

  const looker = await desk.visitor()
  const theirs = await looker.tab(`/ops/sales/${id}`)
  await signIn(theirs, VIEWER_TOKEN)
  await theirs.locator('.pieces').waitFor()
  expect(await theirs.locator('[data-action]').count()).toBe(0)
  expect(await theirs.getByRole('link', { name: 'Edit' }).count()).toBe(0)
  await theirs.getByRole('link', { name: 'Result' }).click()
  await theirs.locator('[data-total=sold]').waitFor()
  await theirs.goto(`${desk.shop.url()}/ops/sales/${id}/edit`)
  await theirs.locator('[data-not-allowed]').waitFor()
  await leave(looker, theirs)
}, 300_000)
