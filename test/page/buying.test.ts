import { expect, test } from 'bun:test'
import type { Page, Route } from 'playwright-core'
import { barriers, button, type Visitor } from '../harness/browser.ts'
import { until } from '../harness/until.ts'
import { pageStage } from './page-shop.ts'

const stage = pageStage()

const ORDERS = /\/items\/\d+\/orders$/
const placed = (page: Page) => page.locator('.panel-pending')
const paid = (page: Page) => page.locator('.panel-paid')

/** No answer comes. The page that waited for it may have left meanwhile. */
async function lose(route: Route): Promise<void> {
  await route.abort('connectionreset').catch(() => {})
}

/** A guest pays at the sandbox, without a page. */
async function payAs(order: string, buyer: string): Promise<void> {
  const post = async (path: string, token: string, body: unknown) => {
    const response = await fetch(stage.shop.url() + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token !== '' && { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    })
    return (await response.json()) as Record<string, string>
  }
  const { token = '' } = await post('/api/session', '', { buyer })
  const { payUrl = '' } = await post(`/api/orders/${order}/payment`, token, {})
  const approved = await fetch(`${payUrl}/approve`, { method: 'POST', headers: { accept: 'application/json' } })
  expect(approved.ok).toBe(true)
}

/** Everything that every visit owes to everybody. */
async function leave(visitor: Visitor, page: Page): Promise<void> {
  expect(await barriers(page)).toEqual([])
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
}

test('takes a buyer from the countdown to "paid", through a reload and the back button', async () => {
  // Time enough for two looks before it opens, and a ticket early in it: when it is fetched is a matter of chance.
  const sale = await stage.shop.sale(120_000, [{ units: 3, listPrice: 299_900 }])
  const visitor = await stage.newVisitor()
  await visitor.context.addInitScript(() => {
    Math.random = () => 0.01
  })
  const page = await visitor.tab('/')
  await button(page, 'before').or(button(page, 'opening')).waitFor()
  await page.locator('.ready').waitFor()
  expect(await barriers(page)).toEqual([])
  await page.reload()
  await page.locator('.ready').waitFor()
  expect(await button(page, 'live').count()).toBe(0)
  // Seen, and nobody has to wait for the rest of the minute.
  await stage.shop.openIn(sale, 4_000)

  await button(page, 'live').click()
  await placed(page).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.reload()
  await placed(page).waitFor()
  await page.locator('.button-pay').click()
  await page.locator('button.approve').click()
  await paid(page).waitFor()
  expect(await barriers(page)).toEqual([])

  const [order] = await stage.shop.orders(sale)
  expect(new URL(page.url()).pathname).toBe(`/orders/${order?.id}`)
  await page.goBack()
  await page.goBack()
  await paid(page).waitFor()
  await page.getByRole('link', { name: 'My orders' }).click()
  expect(await page.locator('.order-row').getAttribute('data-state')).toBe('paid')
  expect((await stage.shop.orders(sale)).map(({ state }) => state)).toEqual(['paid'])
  expect(visitor.ordersSent()).toBe(1)
  await leave(visitor, page)
  await stage.shop.endAll()
})

test('does not say that units may return when every one of them is paid for', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const order = await stage.shop.take(sale, 'payer', 1)
  const visitor = await stage.newVisitor()
  const page = await visitor.tab(sale.path)
  await page.locator('.note', { hasText: 'Units may return' }).waitFor()
  await payAs(order, 'payer')
  await until('the server knows', async () => {
    const seen = (await (await fetch(`${stage.shop.url()}/api/sales/${sale.id}`)).json()) as { items: object[] }
    return Bun.deepMatch({ mayReturn: false }, seen.items[0]!)
  })
  await page.reload()
  await page.locator('.note', { hasText: 'Every unit is paid for' }).waitFor()
  expect(await page.getByText('may return').count()).toBe(0)
  // A unit may come back all the same: the operator refunds it.
  await stage.shop.till.operator('POST', `/orders/${order}/refund`, { restock: true })
  await button(page, 'live').waitFor()
  await leave(visitor, page)
  await stage.shop.endAll()
})

test('the front page shows what is in each sale, and no sale that is not listed', async () => {
  const many = ['Cup', 'Bowl', 'Jug', 'Tray', 'Spoon'].map((name, i) => ({ name, units: 2, price: 1000 * (i + 1) }))
  const evening = await stage.shop.sale(-1_000, many, { name: 'Tableware evening' })
  await stage.shop.sale(600_000, [{ units: 3, name: 'Kettle' }], { name: 'Tomorrow' })
  const hidden = await stage.shop.sale(-1_000, [{ units: 3 }], { name: 'REHEARSAL, not for sale' })
  await stage.shop.till.operator('PATCH', `/sales/${hidden.id}`, { listed: false })
  const visitor = await stage.newVisitor()
  const page = await visitor.tab('/')
  const tile = page.locator(`.tile[href="${evening.path}"]`)
  await tile.waitFor()
  const shown = await tile.innerText()
  for (const said of ['Tableware evening', 'Cup', '10', 'Bowl', '20', 'Jug', '30', '+2']) expect(shown).toContain(said)
  expect(await tile.locator('.tile-product .picture').count()).toBe(3)
  await page.locator('.tile', { hasText: 'Kettle' }).waitFor()
  await until('it is not listed any more', async () => {
    const { sales } = (await (await fetch(`${stage.shop.url()}/api/sales`)).json()) as { sales: { id: string }[] }
    return !sales.some(({ id }) => id === hidden.id)
  })
  await page.reload()
  await tile.waitFor()
  expect(await page.getByText('REHEARSAL').count()).toBe(0)
  expect(await barriers(page)).toEqual([])
  // Who has the address can still buy: a rehearsal's crowd does.
  await page.goto(stage.shop.url() + hidden.path)
  await button(page, 'live').waitFor()
  await leave(visitor, page)
  await stage.shop.endAll()
})

test('says kindly that it is gone, and turns live by itself when a unit comes back', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const visitor = await stage.newVisitor({ cut: true })
  // The live connection opens, and somebody on the way swallows everything it brings.
  await visitor.context.routeWebSocket(/\/api\/live/, () => {})
  const page = await visitor.tab(sale.path)
  await button(page, 'live').waitFor()
  // Somebody is faster, and this page is not told before it asks.
  await page.route('**/api/sales/*', lose)
  const order = await stage.shop.take(sale, 'faster', 1)
  await button(page, 'live').click()
  await button(page, 'sold_out').waitFor()
  await page.locator('.note', { hasText: 'Units may return' }).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.unroute('**/api/sales/*')

  await stage.shop.till.operator('POST', `/orders/${order}/cancel`)
  await button(page, 'live').click()
  await placed(page).waitFor()
  const live = (await stage.shop.orders(sale)).filter(({ state }) => state === 'pending')
  expect(live.map(({ buyer }) => buyer)).not.toEqual(['faster'])
  await leave(visitor, page)
})

test('makes one order of a double click in one tab and a click in another', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 5 }])
  const visitor = await stage.newVisitor()
  const [one, two] = [await visitor.tab(sale.path), await visitor.tab(sale.path)]
  // Both are ready, and the first answer takes its time.
  for (const page of [one, two]) await button(page, 'live').waitFor()
  const [asked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  await visitor.context.route(ORDERS, async route => {
    const answer = await route.fetch()
    asked.resolve()
    await release.promise
    await route.fulfill({ response: answer })
  })
  await button(one, 'live').dblclick()
  await asked.promise
  await button(two, 'sending').waitFor()
  await two.locator('.main-button').click({ force: true })
  release.resolve()
  await Promise.all([placed(one).waitFor(), placed(two).waitFor()])
  expect(visitor.ordersSent()).toBe(1)
  expect(await stage.shop.orders(sale)).toHaveLength(1)
  await leave(visitor, two)
})

for (const [where, locks] of [
  ['', true],
  [', also where the browser has no locks', false],
] as const) {
  test(`makes one order when two tabs are pressed in the same instant${where}`, async () => {
    const sale = await stage.shop.sale(-1_000, [{ units: 5 }])
    const visitor = await stage.newVisitor()
    if (!locks)
      await visitor.context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
    const tabs = [await visitor.tab(sale.path), await visitor.tab(sale.path)]
    for (const page of tabs) await button(page, 'live').waitFor()
    // On a busy machine one of them may be long done before the other has heard of its press: no answer before both are pressed.
    const pressed = Promise.withResolvers<void>()
    await visitor.context.route(ORDERS, async route => {
      await pressed.promise
      await route.continue()
    })
    await Promise.all(tabs.map(page => page.evaluate("document.querySelector('.main-button').click()")))
    // The browser answers each tab in order: by now it has decided who has the lock.
    if (locks) for (const page of tabs) await page.evaluate('navigator.locks.query()')
    pressed.resolve()
    await Promise.all(tabs.map(page => placed(page).waitFor()))
    // A line in the storage can lose a race, and then the server gives both the same order.
    expect(visitor.ordersSent()).toBeLessThanOrEqual(locks ? 1 : 2)
    expect(await stage.shop.orders(sale)).toHaveLength(1)
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })
}

test('makes one buyer of two tabs that each made a guest, where the browser has no locks', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 5 }])
  const visitor = await stage.newVisitor()
  await visitor.context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
  // Each tab has found the lock in the storage free, and neither has a cookie yet.
  const [first, both] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let made = 0
  await visitor.context.route('**/api/session', async route => {
    if (route.request().method() !== 'POST') return route.continue()
    made += 1
    if (made === 1) first.resolve()
    else both.resolve()
    await both.promise
    await route.continue()
  })
  const one = await visitor.tab(sale.path)
  await first.promise
  await one.evaluate("localStorage.removeItem('stampede.lock.session')")
  const two = await visitor.tab(sale.path)
  await both.promise
  const hasTicket = async (page: Page) => {
    const session = await visitor.context.request.get(`${stage.shop.url()}/api/session`)
    const { buyer } = (await session.json()) as { buyer: string }
    return page.evaluate(
      key => Object.keys(sessionStorage).some(one => one.startsWith(key)),
      `stampede.ticket.${buyer}`,
    )
  }
  for (const page of [one, two]) await until('the ticket of the one buyer', () => hasTicket(page))
  await button(one, 'live').click()
  await Promise.all([placed(one).waitFor(), placed(two).waitFor()])
  expect(made).toBe(2)
  expect(await stage.shop.orders(sale)).toHaveLength(1)
  await leave(visitor, two)
})

test('asks by itself when the tab that it gave way to never asked, where the browser has no locks', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const visitor = await stage.newVisitor()
  await visitor.context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }))
  const page = await visitor.tab(sale.path)
  await button(page, 'live').waitFor()
  // As two tabs that were pressed together leave it when each has seen the other's line.
  const [item] = await page.locator('[data-item]').evaluateAll(all => all.map(one => one.getAttribute('data-item')))
  // Pressed in the same breath: the line lapses after a second.
  await page.evaluate(key => {
    localStorage.setItem(key, `${Date.now() + 1_000} gone`)
    document.querySelector<HTMLElement>('.main-button[data-state="live"]')?.click()
  }, `stampede.lock.ask.${item}`)
  await placed(page).waitFor()
  expect(visitor.ordersSent()).toBe(1)
  expect(await stage.shop.orders(sale)).toHaveLength(1)
  await leave(visitor, page)
})

test('ends on the right order when the answer was lost after the order was placed, even when it is sold out meanwhile', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const visitor = await stage.newVisitor({ cut: true })
  const page = await visitor.tab(sale.path)
  const tickets = new Set<string>()
  await page.route(ORDERS, async route => {
    tickets.add((await route.request().headerValue('authorization')) ?? '')
    await route.fetch()
    await lose(route)
  })
  await button(page, 'live').click()
  await page.locator('.note', { hasText: 'asking again' }).waitFor()
  await until('the order', async () => (await stage.shop.orders(sale)).length === 1)
  // A reload does not forget that there is an ask without an answer.
  await page.unroute(ORDERS)
  await page.reload()
  await placed(page).waitFor()
  const orders = await stage.shop.orders(sale)
  expect(orders).toHaveLength(1)
  expect(tickets.size).toBe(1)
  await page.getByText('See the order').click()
  await page.locator('.facts').waitFor()
  await until('the address of the order', () => new URL(page.url()).pathname === `/orders/${orders[0]?.id}`)
  await leave(visitor, page)
})

test('goes on with an ask that never arrived, also after a reload, without another press', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const visitor = await stage.newVisitor({ cut: true })
  const page = await visitor.tab(sale.path)
  await page.route(ORDERS, lose)
  await button(page, 'live').click()
  await page.locator('.note', { hasText: 'asking again' }).waitFor()
  await page.unroute(ORDERS)
  await page.reload()
  await placed(page).waitFor()
  expect(await stage.shop.orders(sale)).toHaveLength(1)
  await leave(visitor, page)
})

test('goes offline and comes back without losing the ask', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 2 }])
  const visitor = await stage.newVisitor({ cut: true })
  const page = await visitor.tab(sale.path)
  await button(page, 'live').waitFor()
  await visitor.context.setOffline(true)
  await button(page, 'offline').waitFor()
  expect(await barriers(page)).toEqual([])
  await visitor.context.setOffline(false)
  await button(page, 'live').waitFor()

  // Once: while it is cut off the page goes on asking, and must not be cut off again after it is back.
  let cut: Promise<void> | undefined
  await page.route(ORDERS, async route => {
    await lose(route)
    cut ??= visitor.context.setOffline(true)
    await cut
  })
  await button(page, 'live').click()
  await page.locator('.note', { hasText: 'as soon as you are back' }).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.unroute(ORDERS)
  await visitor.context.setOffline(false)
  await placed(page).waitFor()
  expect(await stage.shop.orders(sale)).toHaveLength(1)
  await leave(visitor, page)
})

test('works by polling alone where WebSockets are blocked', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const visitor = await stage.newVisitor({ cut: true })
  await visitor.context.routeWebSocket(/\/api\/live/, socket => socket.close())
  const page = await visitor.tab(sale.path)
  await button(page, 'live').waitFor()
  const order = await stage.shop.take(sale, 'faster', 1)
  await button(page, 'sold_out').waitFor()
  await stage.shop.till.operator('POST', `/orders/${order}/cancel`)
  await button(page, 'live').click()
  await placed(page).waitFor()
  await leave(visitor, page)
})

test('hears of it over the live connection where nothing else gets through', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 1 }])
  const visitor = await stage.newVisitor({ cut: true })
  // Heard from the start: the first word may come before the page is loaded.
  const listening = visitor.context
    .waitForEvent('page')
    .then(page => page.waitForEvent('websocket'))
    .then(socket => socket.waitForEvent('framereceived'))
  const page = await visitor.tab(sale.path)
  await listening
  await button(page, 'live').waitFor()
  await page.route('**/api/sales/*', lose)
  const order = await stage.shop.take(sale, 'faster', 1)
  await button(page, 'sold_out').waitFor()
  await stage.shop.till.operator('POST', `/orders/${order}/cancel`)
  await button(page, 'live').click()
  await placed(page).waitFor()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

test('can be used with the keyboard alone, from the first key to cancelling', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3, quantityMax: 3 }])
  const visitor = await stage.newVisitor()
  const page = await visitor.tab(sale.path)
  await button(page, 'live').waitFor()
  const focused = (): Promise<string> =>
    page.evaluate(
      "document.activeElement === document.body ? '' : document.activeElement.textContent.trim() + '|' + (document.activeElement.ariaLabel ?? '')",
    )
  const tabTo = async (what: string) => {
    for (let i = 0; i < 20; i++) {
      await page.keyboard.press('Tab')
      if ((await focused()).includes(what)) return
    }
    throw new Error(`the Tab key never reaches "${what}"`)
  }
  await page.keyboard.press('Tab')
  expect(await focused()).toContain('Skip to content')
  await page.keyboard.press('Enter')
  await tabTo('One more')
  await page.keyboard.press('Enter')
  await tabTo('Buy now')
  await page.keyboard.press('Enter')
  await placed(page).waitFor()
  await until('the focus on the result', async () => (await focused()).includes('It’s yours'))
  await tabTo('Cancel order')
  await page.keyboard.press('Enter')
  await until('the focus on the harmless answer', async () => (await focused()).startsWith('Keep it'))
  await tabTo('Yes, cancel it')
  await page.keyboard.press('Enter')
  await until('the focus on what became of it', async () => (await focused()).startsWith('Your last order: cancelled.'))
  // Said a moment after the focus is there.
  const said = () => page.locator('[data-voice]').textContent()
  await until('it is said', async () => (await said()) === 'Your last order: cancelled.')
  // The next attempt needs another ticket, and nobody has to know.
  await button(page, 'live').click()
  await placed(page).waitFor()
  expect((await stage.shop.orders(sale)).map(({ state }) => state).sort()).toEqual(['closed', 'pending'])
  await leave(visitor, page)
})

test('speaks Chinese to a Chinese browser and English when asked to, and remembers it', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3, name: '龙井绿茶礼盒' }], { name: '秋日茶席' })
  const visitor = await stage.newVisitor({ locale: 'zh-CN' })
  const page = await visitor.tab(sale.path)
  await page.getByRole('button', { name: '立即抢购' }).click()
  await placed(page).waitFor()
  await page.getByText('抢到了').first().waitFor()
  expect(await page.evaluate('document.documentElement.lang')).toBe('zh-CN')
  expect(await page.locator('main').innerText()).not.toMatch(/[A-Za-z]{3}/)
  expect(await barriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Switch to English' }).click()
  await page.getByText('It’s yours').first().waitFor()
  await page.reload()
  await page.getByText('It’s yours').first().waitFor()
  await leave(visitor, page)
})

test('fits a phone: nothing sticks out, and every target is large enough for a thumb', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3, listPrice: 299_900, quantityMax: 2 }])
  const visitor = await stage.newVisitor({ viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true })
  const page = await visitor.tab(sale.path)
  const wide = () => page.evaluate('document.documentElement.scrollWidth - innerWidth')
  const low = () =>
    page.evaluate(
      "[...document.querySelectorAll('button, nav a')].filter(e => e.getBoundingClientRect().height < 36).map(e => e.textContent)",
    )
  await button(page, 'live').tap()
  await placed(page).waitFor()
  expect(await wide()).toBe(0)
  expect(await low()).toEqual([])
  for (const path of ['/orders', '/']) {
    await page.goto(stage.shop.url() + path)
    await page.locator('main h1, main h2').first().waitFor({ state: 'attached' })
    expect({ path, wide: await wide(), low: await low() }).toEqual({ path, wide: 0, low: [] as never })
  }
  await leave(visitor, page)
})
