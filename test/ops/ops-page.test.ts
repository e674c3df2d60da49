import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { barriers, type Visitor } from '../harness/browser.ts'
import { atMost, meanwhile } from '../harness/crowd.ts'
import { assertDescribed } from '../harness/described.ts'
import { payUrlOf, type Till } from '../harness/money.ts'
import { sql } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { childrenOf, postgresPid } from '../harness/postgres-process.ts'
import { Shop, type WireOrder } from '../harness/shop.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { allWell, complaintsOf, confirm, type OpsDesk, openOpsDesk, signIn } from './ops-desk.ts'

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

/** Everything that every visit owes to everybody. */
async function leave(person: Visitor, page: Page): Promise<void> {
  expect(await barriers(page)).toEqual([])
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
}

/** What was done is told when its answer is there; the page may show it sooner. */
const noted = (page: Page, words: string) => page.locator('[data-note=done]', { hasText: words }).waitFor()
const didLine = (page: Page, action: string) => page.locator(`[data-did="${action}"]`)

/** An open sale and one order of a buyer in it. */
async function order(buyer: string, sale: { id: string; items: readonly { id: string }[] }): Promise<WireOrder> {
  const told = await shop.order(await shop.ticket(buyer, sale.id, sale.items[0]!.id), 1)
  if (told.answer.kind !== 'placed') throw new Error(`not placed: ${told.answer.kind}`)
  return { ...told.answer.order, sale: sale.id, item: sale.items[0]!.id, buyer } as WireOrder
}

async function pay(one: WireOrder): Promise<void> {
  await till.decide(payUrlOf(await till.pay(one)), 'approve')
  await until('the order is paid', async () => (await till.order(one.id)).state === 'paid')
}

test('lets nobody see anything before signing in, says clearly when the token is wrong, and forgets on signing out', async () => {
  const person = await desk.visitor()
  const page = await person.tab('/ops/log')
  await page.locator('.sign-in').waitFor()
  expect(await barriers(page)).toEqual([])
  await signIn(page, 'surely not the token')
  await page.locator('.sign-in .refused').waitFor()
  expect(await page.locator('input[name=token]').getAttribute('aria-invalid')).toBe('true')
  expect(await barriers(page)).toEqual([])
  await signIn(page)
  await page.getByRole('heading', { name: 'Log', level: 1 }).waitFor()

  const [cookie] = (await person.context.cookies()).filter(({ name }) => name === 'stampede_ops')
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  expect(cookie?.value).not.toContain(ADMIN_TOKEN)
  await page.reload()
  await page.getByRole('heading', { name: 'Log', level: 1 }).waitFor()

  const asked = (headers: Record<string, string>) =>
    fetch(`${desk.shop.url()}/api/admin/sales`, {
      method: 'POST',
      headers: { cookie: `stampede_ops=${cookie?.value}`, ...headers },
    })
  expect((await asked({})).status).toBe(401)
  expect((await asked({ 'x-stampede-ops': '1', origin: 'https://elsewhere.example' })).status).toBe(401)
  expect((await asked({ 'x-stampede-ops': '1' })).status).toBe(400)

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('.sign-in').waitFor()
  expect(await page.locator('.lines').count()).toBe(0)
  expect((await asked({ 'x-stampede-ops': '1' })).status).toBe(401)
  await leave(person, page)
})

/** One white pixel. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mP8/x8AAwMCAO+ip1sAAAAASUVORK5CYII=',
  'base64',
)

test('takes a sale from a draft to its end, asks once before each step, says what it did, and shows it in the log', async () => {
  const { person, page } = await desk.operator('/ops')
  await page.getByRole('link', { name: 'New sale' }).click()
  await page.locator('[name=name]').fill('Spring cleaning')
  await page.locator('[name=opensAt]').fill('2026-01-01T00:00:00')
  await page.locator('[name=closesAt]').fill('2099-01-01T00:00:00')
  await page.locator('[name="items.0.name"]').fill('Broom')
  await page.locator('[name="items.0.price"]').fill('19.5')
  const file = page.getByLabel('Or upload a picture')
  await file.setInputFiles({ name: 'broom.png', mimeType: 'image/png', buffer: Buffer.from('<svg/>') })
  await page.locator('.field:has([type=file]) .refused').waitFor()
  await file.setInputFiles({ name: 'broom.png', mimeType: 'image/png', buffer: PICTURE })
  // What is typed while the file is on its way stays.
  await page.locator('[name="items.0.description"]').fill('Of birch.\n<b>Stands</b> by itself.')
  await page.locator('[name="items.0.units"]').fill('8')
  await until('the address', async () => (await page.locator('[name="items.0.image"]').inputValue()) !== '')
  expect(await page.locator('[name="items.0.units"]').inputValue()).toBe('8')
  expect(await page.locator('.field:has([name=opensAt]) .hint').textContent()).toContain('past')
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Create draft' }).click()
  await page.locator('.badge-draft').waitFor()
  await noted(page, 'Spring cleaning')
  await page.waitForURL(/\/ops\/sales\/\d+$/)
  const sale = new URL(page.url()).pathname.split('/').at(-1) ?? ''

  await page.getByRole('link', { name: 'Edit' }).click()
  await page.locator('[name="items.0.units"]').fill('10')
  await page.getByRole('button', { name: 'Save draft' }).click()
  await page.locator('[data-units="10 10 0 0 0"]').waitFor()

  // "Not now" and Escape do nothing.
  await page.locator('[data-action=publish]').click()
  await page.getByRole('button', { name: 'Not now' }).click()
  await page.locator('[data-action=publish]').click()
  await page.locator('dialog[open]').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('dialog[open]').waitFor({ state: 'detached' })
  expect((await till.operator('GET', `/sales/${sale}`)).state).toBe('draft')

  for (const [action, state] of [
    ['publish', 'open'],
    ['pause', 'paused'],
    ['resume', 'open'],
  ] as const) {
    expect(await confirm(page, action)).toContain('Spring cleaning')
    await page.locator(`.badge-${state}`).waitFor()
    expect((await till.operator('GET', `/sales/${sale}`)).state).toBe(state)
    await didLine(page, `sale.${action}`).first().waitFor()
  }
  // Buyers see both.
  const shown = await person.tab(`/s/${sale}`)
  await shown.locator('.description').waitFor()
  expect(await shown.locator('.description').innerText()).toBe('Of birch.\n<b>Stands</b> by itself.')
  await until('the picture', () =>
    shown.locator('.picture img').evaluate(image => (image as HTMLImageElement).naturalWidth === 1),
  )
  await shown.close()

  await page.locator('[data-action=stock]').click()
  await page.locator('dialog [name=delta]').fill('0')
  await page.locator('dialog [name=reason]').fill('a second box')
  await page.locator('dialog button[type=submit]').click()
  expect(await page.locator('dialog .refused').textContent()).toContain('must not be 0')
  expect(await barriers(page)).toEqual([])
  await page.locator('dialog [name=delta]').fill('5')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('[data-units="15 15 0 0 0"]').waitFor()
  await noted(page, '+5')

  expect(await confirm(page, 'reconcile')).toContain('Spring cleaning')
  await noted(page, 'No differences')
  await page.locator('[data-reconciled="0"]').waitFor()
  expect(await confirm(page, 'end')).toContain('for good')
  await page.locator('.badge-over').waitFor()

  await page.getByRole('link', { name: 'The whole log' }).click()
  await didLine(page, 'sale.end').first().waitFor()
  const doneTo = async () => {
    const { log } = (await till.operator('GET', '/log?limit=1000')) as unknown as {
      log: { action: string; sale?: string }[]
    }
    return log.filter(line => line.sale === sale).map(line => line.action)
  }
  const done = await doneTo()
  for (const action of ['create', 'publish', 'pause', 'resume', 'reconcile', 'end'])
    expect(done).toContain(`sale.${action}`)
  // The server may write a line of its own after either look.
  await until('all of it is shown', async () => {
    const shown = await page.locator(`tr:has(a[href="/ops/sales/${sale}"]) code`).allTextContents()
    return shown.toReversed().join() === (await doneTo()).join()
  })
  await leave(person, page)
}, 300_000)

test('shows the same numbers as the audit while 2,000 buyers are at it', async () => {
  const sale = await shop.openSale(-1000, [{ units: 600 }, { units: 400 }])
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await page.locator('.pieces').nth(1).waitFor()
  const before = await funnelOf(page)
  const askedBefore = shop.told.length

  const buy = async (i: number) => {
    const item = sale.items[i % 2]!
    const told = await shop.order(await shop.ticket(`crowd-${i}`, sale.id, item.id), 1)
    if (told.answer.kind !== 'placed') return
    const mine = { ...told.answer.order, buyer: `crowd-${i}` } as WireOrder
    if (i % 3 === 0) await till.cancel(mine)
    if (i % 3 === 1) await till.decide(payUrlOf(await till.pay(mine)), 'approve')
  }
  let overtaken = 0
  for (let wave = 0; wave < 5; wave++) {
    const earlier = await shop.audit(sale.id)
    const fromMs = Date.now()
    const crowd = meanwhile(
      atMost(
        24,
        Array.from({ length: 400 }, (_, i) => wave * 400 + i),
        buy,
      ),
    )
    const isLater = async () => (await looks(page)).every(({ atMs }) => atMs > fromMs)
    await until('a look after the audit', isLater)
    const shown = await looks(page)
    const later = await shop.audit(sale.id)
    for (const [i, look] of shown.entries()) {
      expect(look.available + look.pending + look.paid).toBe(look.units)
      for (const figure of [taken, paidOf]) {
        expect(figure(look)).toBeGreaterThanOrEqual(figure(earlier[i]!))
        expect(figure(look)).toBeLessThanOrEqual(figure(later[i]!))
      }
      if (taken(look) > taken(earlier[i]!)) overtaken += 1
    }
    await crowd
    expect(await page.locator('[data-banner]').count()).toBe(0)
  }
  expect(overtaken).toBeGreaterThan(0)

  const figures = (all: readonly Units[]) =>
    JSON.stringify(all.map(({ units, available, pending, paid, closed }) => [units, available, pending, paid, closed]))
  const agree = async () => figures(await shop.audit(sale.id)) === figures(await looks(page))
  await until('the page shows what the audit says', agree)
  const told = shop.told.slice(askedBefore)
  const kinds = (kind: string) => told.filter(({ answer }) => answer.kind === kind).length
  await until('the funnel has them all', async () => (await funnelOf(page)).asked === before.asked + told.length)
  const after = await funnelOf(page)
  expect(after.soldOut - before.soldOut).toBe(kinds('sold_out'))
  expect(after.placed - before.placed).toBe(kinds('placed'))
  expect(kinds('placed')).toBeGreaterThanOrEqual(1000)
  expect(await page.locator('.plot canvas').count()).toBe(3)
  await leave(person, page)
}, 300_000)

interface Units {
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly paid: number
  readonly closed: number
}

const taken = ({ pending, paid, closed }: Units) => pending + paid + closed
const paidOf = ({ paid }: Units) => paid

/** What the page shows of each item, and when the server looked. */
function looks(page: Page): Promise<readonly (Units & { readonly atMs: number })[]> {
  return page.locator('.pieces').evaluateAll(found =>
    found.map(one => {
      const [units = 0, available = 0, pending = 0, paid = 0, closed = 0] = (one.getAttribute('data-units') ?? '')
        .split(' ')
        .map(Number)
      // What is read by people must be what is read here.
      const words = Array.from(one.querySelectorAll('dd'), dd => Number(dd.textContent?.replaceAll(',', '')))
      if (words.join(' ') !== [paid, pending, available, units].join(' ')) throw new Error(`shows ${words}`)
      return { units, available, pending, paid, closed, atMs: Date.parse(one.getAttribute('data-at') ?? '') }
    }),
  )
}

async function funnelOf(page: Page): Promise<Readonly<Record<'asked' | 'soldOut' | 'placed' | 'paid', number>>> {
  const steps = await page
    .locator('[data-step]')
    .evaluateAll(found => found.map(one => [one.getAttribute('data-step'), Number(one.getAttribute('data-count'))]))
  return Object.fromEntries(steps)
}

test('shows a red banner when a promise is broken, since when, and what to press', async () => {
  const sale = await shop.openSale(-1000, [{ units: 5 }])
  for (const buyer of ['ada', 'bob', 'cyn']) await order(buyer, sale)
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`)
  await allWell(page)
  const planted = Date.now()
  await sql(desk.shop.site.server().dataDir, 'UPDATE items SET units = 2, available = 0 WHERE id = $1', [
    sale.items[0]!.id,
  ])
  await page.locator('[data-banner=promise_broken]').waitFor()
  const line = page.locator('[data-trouble=promise_broken]')
  expect(await line.locator('.wrong-words').textContent()).toContain('3 units in live orders, 2 put on sale')
  const since = Date.parse((await line.locator('time').getAttribute('datetime')) ?? '')
  expect(since).toBeGreaterThan(planted - 1000)
  expect(since).toBeLessThan(Date.now())
  for (const path of [`/api/admin/sales/${sale.id}/watch`, '/api/admin/trouble']) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const response = await fetch(desk.shop.url() + path, { headers })
    const body = await response.text()
    assertDescribed('GET', path, response.status, response.headers, body)
    expect(body).toContain('promise_broken')
  }
  expect(await barriers(page)).toEqual([])
  await line.getByRole('button', { name: 'Pause' }).click()
  await page.locator('dialog button[type=submit]').click()
  await page.locator('.badge-paused').waitFor()

  // Also on the list of all sales, and gone when it is mended.
  await page.getByRole('link', { name: 'Sales', exact: true }).click()
  await page.locator('[data-banner=promise_broken]').waitFor()
  await sql(desk.shop.site.server().dataDir, 'UPDATE items SET units = 5, available = 2 WHERE id = $1', [
    sale.items[0]!.id,
  ])
  await allWell(page)
  await leave(person, page)
}, 300_000)

test('finds orders by buyer and number, pages, gives them as CSV, cancels and refunds', async () => {
  const sale = await shop.openSale(-1000, [{ units: 60 }])
  const ada = await order('ada', sale)
  const bob = await order('=cmd|bob', sale)
  await pay(bob)
  await atMost(
    8,
    Array.from({ length: 53 }, (_, i) => i),
    i => order(`buyer-${i}`, sale),
  )
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}/orders`)
  await page.locator('[data-order]').nth(49).waitFor()
  await page.getByRole('button', { name: 'Next page' }).click()
  await until('the second page', async () => (await page.locator('[data-order]').count()) === 5)
  await page.locator('select').selectOption('paid')
  await until('the paid one', async () => (await page.locator('[data-order]').count()) === 1)

  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download CSV' }).click(),
  ])
  expect(file.suggestedFilename()).toBe(`orders-${sale.id}.csv`)
  const csv = await Bun.file((await file.path()) ?? '').text()
  expect(csv.trim().split('\r\n').length).toBe(2)
  expect(csv).toContain("'=cmd|bob")

  await page.locator('select').selectOption('')
  await until('everybody again', async () => (await page.locator('[data-order]').count()) === 50)
  await page.locator('[name=search]').fill('=cmd|bob')
  await page.getByRole('button', { name: 'Find' }).click()
  await until('nobody else', async () => (await page.locator('[data-order]').count()) === 1)
  await page.locator(`[data-order="${bob.id}"]`).waitFor()
  await page.locator('[name=search]').fill(ada.id)
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('heading', { name: `Order ${ada.id}` }).waitFor()
  expect(await confirm(page, 'cancel')).toContain(ada.id)
  await page.locator('.badge-order-closed').waitFor()
  expect((await till.order(ada.id)).reason).toBe('cancelled')
  await page.locator('.history').getByText('Cancelled the order').waitFor()

  await page.goto(`${desk.shop.url()}/ops/orders/${bob.id}`)
  // A part first, typed as people do; what is no amount is refused on the spot, what is too much by the server.
  await page.locator('[data-action=refund]').click()
  const refuse = async (typed: string) => {
    await page.locator('dialog [name=amount]').fill(typed)
    await page.locator('dialog button[type=submit]').click()
    return page.locator('dialog .field:has([name=amount]) .refused').textContent()
  }
  expect(await refuse('a lot')).toContain('not an amount of CNY')
  expect(await refuse('99999999.00')).toContain('can still be refunded')
  await page.locator('dialog [name=amount]').fill('0,50')
  await page.locator('dialog [name=reason]').fill('a scratch')
  await page.locator('dialog button[type=submit]').click()
  await page.locator('[data-part]').waitFor()
  expect(await page.locator('[data-part]').textContent()).toContain('0.50')
  expect(await page.locator('.history').textContent()).toContain('a scratch')
  expect((await till.order(bob.id)).payments[0]?.refunds).toMatchObject([
    { amount: { amount: 50 }, reason: 'a scratch' },
  ])

  await page.locator('[data-action=refund]').click()
  await page.getByLabel('Put the units back on sale').check()
  expect(await barriers(page)).toEqual([])
  await page.locator('dialog button[type=submit]').click()
  await page.locator('.badge-order-closed').waitFor()
  expect(await page.locator('.badge-order-closed').textContent()).toBe('Refunded')
  await until('the units are back', async () => (await shop.audit(sale.id))[0]?.available === 60 - 53)

  await page.getByRole('link', { name: 'Payments' }).click()
  await page.locator('[data-providers]').getByText('sandbox').waitFor()
  await page.locator('[data-report]').getByText('sandbox').first().waitFor()
  expect(await barriers(page)).toEqual([])
  await page.locator('[name=from]').fill('2020-01-01')
  await page.getByRole('button', { name: 'Show', exact: true }).click()
  await page.locator('.field:has([name=to]) .refused').waitFor()
  await leave(person, page)
}, 300_000)

test('shows hostile names as words, and says next to the field what the server refuses', async () => {
  const { person, page } = await desk.operator('/ops/new')
  const fill = (name: string, value: string) => page.locator(`[name="${name}"]`).fill(value)
  const send = () => page.locator('.sale-form button[type=submit]').click()
  const refusal = (name: string) => page.locator(`.field:has([name="${name}"]) .refused`)
  const good: Record<string, string> = {
    name: '<img src=x onerror=alert(1)>👩‍👩‍👧‍👦',
    opensAt: '2026-01-01T00:00:00',
    closesAt: '2099-01-01T00:00:00',
    'items.0.name': '<script>alert(1)</script> "quoted" &amp; مرحبا',
    'items.0.price': '0',
    'items.0.units': '1',
    'items.0.currency': 'CNY',
    'items.0.image': '',
  }
  for (const [name, value] of Object.entries(good)) await fill(name, value)
  for (const [name, bad, words] of [
    ['name', 'x'.repeat(10_000), '200'],
    ['name', '   ', 'needs a name'],
    ['items.0.name', ' ', 'needs a name'],
    ['closesAt', '2026-01-01T00:00:00', 'later than the opening'],
    ['items.0.name', 'a\u2028b', 'control'],
    ['items.0.price', '99999999999999', 'above the highest allowed price'],
    ['items.0.price', 'many', 'amount like'],
    ['items.0.currency', 'yuan', 'currency code'],
    ['items.0.units', '-1', 'at least 0'],
    ['items.0.units', '1e9', 'whole number'],
    ['items.0.image', 'javascript:alert(1)', 'http(s)'],
  ] as const) {
    await fill(name, bad)
    await send()
    await until(`"${words}" next to ${name}`, async () =>
      (await refusal(name).allTextContents()).join().includes(words),
    )
    expect((await refusal(name).allTextContents()).join()).not.toMatch(/"|expected|opensAt/)
    await page.locator(`[name="${name}"]:focus`).waitFor()
    await fill(name, good[name] ?? '')
  }
  expect(await barriers(page)).toEqual([])
  await send()
  await page.locator('.badge-draft').waitFor()
  expect(await page.locator('h1').textContent()).toBe(good.name ?? '')
  expect(await page.locator('.item h2').textContent()).toBe(good['items.0.name'] ?? '')
  await confirm(page, 'publish')
  await page.getByRole('link', { name: 'Sales', exact: true }).click()
  await page.getByText('onerror').first().waitFor()
  await leave(person, page)
}, 300_000)

test('can be used with the keyboard alone, in Chinese, on a phone, in the dark', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 3, name: 'W'.repeat(200) }], { name: 'Ω'.repeat(200) })
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`, {
    locale: 'zh-CN',
    colorScheme: 'dark',
    viewport: { width: 360, height: 740 },
  })
  await page.locator('[data-action=pause]').waitFor()
  expect(await page.locator('html').getAttribute('lang')).toBe('zh-CN')
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  for (let i = 0; (await focused(page)) !== 'pause' && i < 20; i++) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.locator('dialog[open]').waitFor()
  for (let i = 0; (await page.evaluate(() => document.activeElement?.getAttribute('type'))) !== 'submit' && i < 5; i++)
    await page.keyboard.press('Tab')
  expect(await barriers(page)).toEqual([])
  await page.keyboard.press('Enter')
  await page.locator('.badge-paused').waitFor()
  expect(await page.locator('.badge-paused').first().textContent()).toBe('已暂停')
  for (const path of ['', '/new', '/log', `/sales/${sale.id}/orders`]) {
    await page.goto(`${desk.shop.url()}/ops${path}`)
    await page.locator('h1').waitFor()
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
    expect(await barriers(page)).toEqual([])
  }
  await leave(person, page)
}, 300_000)

function focused(page: Page): Promise<string | null | undefined> {
  return page.evaluate(() => document.activeElement?.getAttribute('data-action'))
}

test('says so when the server can’t be reached, and goes on by itself', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 3 }])
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`, { cut: true })
  await allWell(page)
  await page.context().setOffline(true)
  await page.locator('[data-trouble=unreachable]').waitFor()
  await page.locator('[data-action=pause]').click()
  await page.locator('dialog button[type=submit]').click()
  expect(await page.locator('dialog [role=alert]').textContent()).toContain('Press again')
  await page.context().setOffline(false)
  await page.locator('dialog button[type=submit]').click()
  await page.locator('.badge-paused').waitFor()
  await allWell(page)
  await leave(person, page)
})

test('says that the ledger is away, shows what it can meanwhile, and is well again when it is back', async () => {
  const sale = await desk.shop.sale(-1000, [{ units: 3 }])
  const { person, page } = await desk.operator(`/ops/sales/${sale.id}`, { cut: true })
  await allWell(page)
  const main = postgresPid(desk.shop.site.server().dataDir) ?? 0
  // The parent first: then nobody is born who would not be stopped. A child may have come to its own end meanwhile.
  process.kill(main, 'SIGSTOP')
  const family = childrenOf(main)
  const signal = (pid: number, name: 'SIGSTOP' | 'SIGCONT') => {
    try {
      process.kill(pid, name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  try {
    for (const pid of family) signal(pid, 'SIGSTOP')
    await page.locator('[data-trouble=ledger_away]').waitFor()
    await page.getByText('no audit right now').waitFor()
    expect(await page.locator('[data-trouble=unreachable]').count()).toBe(0)
    expect(await barriers(page)).toEqual([])
  } finally {
    for (const pid of [main, ...family]) signal(pid, 'SIGCONT')
  }
  await allWell(page)
  await page.locator('.pieces').waitFor()
  await leave(person, page)
}, 300_000)

test('makes whoever guesses tokens wait', async () => {
  const person = await desk.visitor()
  const page = await person.tab('/ops')
  const guess = () =>
    Promise.all(
      Array.from({ length: 12 }, () =>
        fetch(`${desk.shop.url()}/ops/session`, {
          method: 'POST',
          headers: { 'x-stampede-ops': '1' },
          body: JSON.stringify({ token: 'a guess' }),
        }).then(({ status }) => status),
      ),
    )
  expect(await guess()).toContain(429)
  // A try is given back every few seconds: it must not be the one that is made here.
  await until('the wait is said', async () => {
    await guess()
    await signIn(page, `${ADMIN_TOKEN}x`)
    return (await page.locator('.sign-in .refused').textContent())?.includes('Too many tries')
  })
  await leave(person, page)
})
