import { describe, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { barriers, button, openBrowser, type Visitor } from '../harness/browser.ts'
import { freePort } from '../harness/free-port.ts'
import { Playground } from '../harness/playground.ts'
import { BUYER_JWT_SECRET, Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { openPageShop, pageStage } from './page-shop.ts'

/** Long enough that a slow page has heard of the opening when there are seconds left to count. */
const COUNTED_S = 20

describe('a shop with its own sign-in and tight limits', () => {
  const stage = pageStage({ BUYER_JWT_SECRET, GUEST_SIGN_IN: 'off', RATE_PER_BUYER: '1/30s', PORT: '0' })

  /** What the shop's own page does. */
  async function signIn(visitor: Visitor, buyer: string): Promise<void> {
    const token = await new SignJWT({ sub: buyer })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(BUYER_JWT_SECRET))
    const reply = await visitor.context.request.post(`${stage.shop.url()}/api/session`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(reply.status()).toBe(204)
  }

  test('tells a stranger to sign in, and a buyer who is rate limited how long to wait', async () => {
    const sale = await stage.shop.sale(-1_000, [{ units: 5 }])
    const visitor = await stage.newVisitor()
    const page = await visitor.tab(sale.path)
    await button(page, 'signed_out').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.goto(`${stage.shop.url()}/orders`)
    await page.getByRole('heading', { name: 'Sign in to buy' }).waitFor()
    expect(await barriers(page)).toEqual([])

    await signIn(visitor, 'ann')
    await page.goto(stage.shop.url() + sale.path)
    await button(page, 'live').click()
    await page.locator('.panel-pending').waitFor()
    await page.getByRole('button', { name: 'Cancel order' }).click()
    await page.getByRole('button', { name: 'Yes, cancel it' }).click()
    // A second ticket, or a second order, within the half minute.
    await button(page, 'live').click()
    await button(page, 'limited')
      .filter({ hasText: /^Try again in ([1-9]|[12]\d|30) s$/ })
      .waitFor()
    expect(await barriers(page)).toEqual([])
    // The ticket is waited for and then, where it was had long before the first order, the order too.
    const [live, pending] = [button(page, 'live'), page.locator('.panel-pending')]
    await until('the second order', async () => {
      // The order of the press before may be there while this one looks for its button.
      if (await live.isVisible()) await live.click({ timeout: 5_000 }).catch(() => {})
      return pending.isVisible()
    })

    // Another buyer at the same device neither sees nor uses what was Ann's.
    await signIn(visitor, 'bob')
    await page.reload()
    await button(page, 'live').click()
    await page.locator('.panel-pending').waitFor()
    expect((await stage.shop.orders(sale)).map(({ buyer, state }) => `${buyer} ${state}`).sort()).toEqual([
      'ann closed',
      'ann pending',
      'bob pending',
    ])
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  }, 300_000)
})

describe('a shop that lets guests in', () => {
  const stage = pageStage()

  test('follows the operator: paused, on again, over, also for those who press at the wrong moment', async () => {
    const sale = await stage.shop.sale(-1_000, [{ units: 5 }])
    const visitor = await stage.newVisitor({ cut: true })
    const page = await visitor.tab(sale.path)
    await button(page, 'live').waitFor()
    await page.route('**/api/sales/*', route => route.abort())
    await stage.shop.till.move(sale.id, 'pause')
    await button(page, 'live').or(button(page, 'paused')).click({ force: true })
    await button(page, 'paused').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.unroute('**/api/sales/*')
    await stage.shop.till.move(sale.id, 'resume')
    await button(page, 'live').waitFor()
    await stage.shop.till.move(sale.id, 'end')
    await button(page, 'over').waitFor()
    expect(await barriers(page)).toEqual([])
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })

  test('shows a sale that is paused before its opening as paused, with the time it is planned for', async () => {
    const visitor = await stage.newVisitor()
    const page = await visitor.tab('/orders')
    const sale = await stage.shop.sale(600_000, [{ units: 5 }])
    await page.goto(stage.shop.url() + sale.path)
    await button(page, 'before').waitFor()
    await stage.shop.till.move(sale.id, 'pause')
    await button(page, 'paused').waitFor()
    await page.locator('.note', { hasText: 'it opens as planned' }).waitFor()
    await page.locator('.clock .eyebrow', { hasText: /^Opens (\d\d:\d\d:\d\d|\d+ \w+, \d\d:\d\d)$/ }).waitFor()
    expect(await page.locator('.digits').count()).toBe(0)
    expect(await barriers(page)).toEqual([])
    await stage.shop.openIn(sale, 2_000)
    await page.locator('.note', { hasText: 'unlocks when the sale resumes' }).waitFor()
    expect(await button(page, 'paused').count()).toBe(1)
    await stage.shop.till.move(sale.id, 'resume')
    await button(page, 'live').waitFor()
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })

  test('says when the only item of a sale opens, counts days and units rightly, and shows a long name whole', async () => {
    const name = 'A very long name of a teapot '.repeat(6).trim()
    const sale = await stage.shop.sale(24 * 3_600_000 + 30_000, [{ name, units: 1 }])
    const visitor = await stage.newVisitor({ viewport: { width: 360, height: 740 } })
    const page = await visitor.tab(sale.path)
    await page.locator('.countdown', { hasText: /^Opens \d+ \w+, \d\d:\d\d1day/ }).waitFor()
    await page.locator('.stock p', { hasText: /^1 unit$/ }).waitFor()
    expect(await page.evaluate("(e => e.scrollHeight - e.clientHeight)(document.querySelector('h1'))")).toBe(0)
    await visitor.context.close()
  })

  test('says so when all attempts are used, and shows what became of the order that was not paid', async () => {
    const sale = await stage.shop.sale(-1_000, [{ units: 5, attemptsMax: 1, payWithinSeconds: 1 }])
    const visitor = await stage.newVisitor()
    const page = await visitor.tab(sale.path)
    await button(page, 'live').click()
    await page.locator('.last-order').waitFor()
    await button(page, 'live').or(button(page, 'attempts_used')).click({ force: true })
    await button(page, 'attempts_used').waitFor()
    expect(await barriers(page)).toEqual([])
    await page.locator('.last-order a').click()
    await page.getByRole('heading', { name: 'Not paid in time' }).waitFor()
    expect(await barriers(page)).toEqual([])
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })

  test('counts down by the server’s clock on a device that is an hour off, to within 50 ms', async () => {
    const visitor = await stage.newVisitor()
    await visitor.context.addInitScript(() => {
      const real = Date
      const HOUR_MS = 3_600_000
      class Wrong extends real {
        constructor(...given: unknown[]) {
          if (given.length === 0) super(real.now() + HOUR_MS)
          else super(...(given as [number]))
        }
        static override now() {
          return real.now() + HOUR_MS
        }
      }
      globalThis.Date = Wrong as DateConstructor
      // How long the page waited for each of the server's times: half of the shortest is as well as any clock can be told over a network.
      const trips: number[] = []
      const ask = globalThis.fetch
      Object.assign(globalThis, {
        trips,
        async fetch(...given: Parameters<typeof ask>) {
          const askedMs = performance.now()
          const response = await ask(...given)
          const text = response.text.bind(response)
          response.text = async () => {
            const heard = await text()
            if (response.url.endsWith('/api/time')) trips.push(performance.now() - askedMs)
            return heard
          }
          return response
        },
      })
    })
    const page = await visitor.tab('/orders')
    const sale = await stage.shop.sale(600_000, [{ units: 5 }])
    await page.goto(stage.shop.url() + sale.path)
    await button(page, 'before').waitFor()
    // Only now: a slow machine may need longer for the page than the countdown lasts.
    const opensAtMs = await stage.shop.openIn(sale, COUNTED_S * 1000)
    // The browser's own monotonic clock is this machine's, whatever the page believes the date to be. Timers of
    // our own, one for each tick in the very moment when it is due, tell how long a busy machine held up the whole page.
    const { seen, fired, tripMs } = (await page.evaluate(`new Promise(done => {
      const seen = []
      const fired = {}
      const nowMs = () => performance.timeOrigin + performance.now()
      for (let left = 0; left <= ${COUNTED_S}; left++) {
        const dueInMs = ${opensAtMs} - left * 1000 - nowMs()
        if (dueInMs > 0) setTimeout(() => { fired[left] = nowMs() }, dueInMs)
      }
      const look = () => {
        const digits = document.querySelector('.digits')
        const key = digits ? 'left ' + digits.dataset.left : document.querySelector('.main-button').dataset.state
        if (seen.at(-1)?.key !== key) seen.push({ key, atMs: nowMs() })
        if (key === 'live') done({ seen, fired, tripMs: Math.min(...globalThis.trips) })
      }
      new MutationObserver(look).observe(document.getElementById('page'), { subtree: true, childList: true, attributes: true })
      look()
    })`)) as { seen: { key: string; atMs: number }[]; fired: Record<number, number>; tripMs: number }
    const off = seen.slice(1).flatMap(({ key, atMs }) => {
      const left = key === 'live' ? 0 : Number(key.slice(5))
      // Until the page has heard of the new time it counts down to the old one.
      if (left > COUNTED_S) return []
      const dueMs = opensAtMs - left * 1000
      return { key, offMs: atMs - dueMs, heldUpMs: Math.max(0, (fired[left] ?? dueMs) - dueMs) }
    })
    expect(off.length).toBeGreaterThan(3)
    // A busy machine may hold up one tick more than its timer; a wrong clock is wrong at each, and nothing makes a tick come early.
    const sizes = off.map(({ offMs, heldUpMs }) => Math.abs(offMs - heldUpMs)).sort((a, b) => a - b)
    const offMsMax = 50 + tripMs / 2
    expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThanOrEqual(offMsMax)
    expect(off.filter(({ offMs }) => offMs < -offMsMax)).toEqual([])
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })

  test('shows names as text: scripts, emoji, right to left, endless ones', async () => {
    const names = [
      '<img src=x onerror="document.title=1">',
      '👩‍👩‍👧‍👦🫖 teapot',
      'إبريق شاي مصنوع يدويا',
      'W'.repeat(200),
    ]
    const sale = await stage.shop.sale(
      -1_000,
      names.map(name => ({ name, units: 3, price: 999_999_999_999 })),
      { name: '<script>document.title=2</script>' },
    )
    const visitor = await stage.newVisitor({ viewport: { width: 360, height: 700 } })
    const page = await visitor.tab(sale.path)
    await button(page, 'live').nth(3).waitFor()
    expect(await page.locator('h2').allTextContents()).toEqual(names)
    expect(await page.locator('h1').textContent()).toBe('<script>document.title=2</script>')
    // Set a moment after it is shown.
    await until('the title', async () => (await page.title()).startsWith('<script>'))
    const wide = () => page.evaluate('document.documentElement.scrollWidth - innerWidth')
    expect(await wide()).toBe(0)
    expect(await barriers(page)).toEqual([])

    // Longer than our own server lets anybody write: the page stands on its own.
    await page.route(`**/api${sale.path.replace('/s/', '/sales/')}`, async route => {
      try {
        const answer = await route.fetch()
        const body = (await answer.json()) as { items: { name: string }[] }
        for (const item of body.items) item.name = `${item.name} ${'无尽的名字'.repeat(1000)}${'x'.repeat(5000)}`
        await route.fulfill({ response: answer, json: { ...body, name: 'y'.repeat(10_000) } })
      } catch {
        // The page was loaded anew meanwhile, and nobody waits for this one any more.
      }
    })
    await page.reload()
    await button(page, 'live').nth(3).waitFor()
    expect(await wide()).toBe(0)
    const cut = await page.evaluate(
      "[...document.querySelectorAll('h1, h2')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent.slice(0, 20))",
    )
    expect(cut).toEqual([])
    const tallest = await page.evaluate("Math.max(...[...document.querySelectorAll('.item')].map(e => e.offsetHeight))")
    expect(tallest).toBeLessThan(1_000)
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })

  test('says kindly that there is nothing: no such sale, no such order, no orders', async () => {
    const visitor = await stage.newVisitor()
    const page = await visitor.tab('/s/1')
    for (const [path, title] of [
      ['/s/1', 'Page not found'],
      ['/orders/1', 'Page not found'],
      ['/orders', 'You have no orders yet'],
    ] as const) {
      await page.goto(stage.shop.url() + path)
      await page.getByRole('heading', { name: title }).waitFor()
      expect(await barriers(page)).toEqual([])
    }
    expect(visitor.complaints()).toEqual([])
    await visitor.context.close()
  })
})

test('goes on by itself when the server is started again in mid-sale', async () => {
  const playground = new Playground()
  try {
    // Where it is started again: while it is down, nobody else may be given its port.
    const shop = await openPageShop(playground, { PORT: String(await freePort()) })
    const { visitor } = await openBrowser(playground)
    const url = shop.url()
    const sale = await shop.sale(-1_000, [{ units: 5 }])
    const person = await visitor(() => url, { cut: true })
    const [waiting, asking] = [await person.tab(sale.path), await person.tab(sale.path)]
    for (const page of [waiting, asking]) await button(page, 'live').waitFor()

    await shop.site.server().kill()
    await button(asking, 'live').click()
    await asking.locator('.note', { hasText: 'asking again' }).waitFor()
    await waiting.locator('.banner', { hasText: 'can’t be reached' }).waitFor()
    expect(await barriers(waiting)).toEqual([])
    const again = await Stampede.start(playground, {
      dataDir: shop.site.server().dataDir,
      env: { BUYER_JWT_SECRET: '', GUEST_SIGN_IN: 'on', PORT: new URL(url).port },
    })
    await shop.site.takeOver(again)
    await Promise.all([waiting, asking].map(page => page.locator('.panel-pending').waitFor()))
    expect(await shop.orders(sale)).toHaveLength(1)
    expect(person.complaints()).toEqual([])
  } finally {
    await playground.undo()
  }
}, 300_000)
