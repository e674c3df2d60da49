import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { buildPage } from '../deploy/shipped.ts'
import { barriers, button, openBrowser } from '../harness/browser.ts'
import { freePort } from '../harness/free-port.ts'
import { layOutSite } from '../harness/nginx-site.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { openPageShop, type PageShop } from './page-shop.ts'

setDefaultTimeout(300_000)

const NAME = 'Tea & "bowls" </script><b>'
const DAY_MS = 86_400_000

const playground = new Playground()
let shop: PageShop
let url: string
let folder: string
let browser: Awaited<ReturnType<typeof openBrowser>>
beforeAll(async () => {
  const [port, edgePort] = [await freePort(), await freePort()]
  const site = await layOutSite(playground, {
    site: 'compose/nginx.conf',
    page: buildPage(playground),
    instead: [
      ['listen 80 ', `listen 127.0.0.1:${port} `],
      ['edge-a:8080', `127.0.0.1:${edgePort}`],
      ['edge-b:8080', `127.0.0.1:${await freePort()}`],
    ],
  })
  folder = join(site.folder, 'page')
  url = `http://127.0.0.1:${port}`
  const own = { PORT: `${edgePort}`, PAGES_DIR: folder, TRUSTED_PROXIES: '127.0.0.1' }
  ;[shop, browser] = await Promise.all([openPageShop(playground, own), openBrowser(playground), site.start()])
})
afterAll(() => playground.undo())

const fileOf = (sale: { readonly id: string }) => join(folder, 's', `${sale.id}.html`)

test('with every edge down a sale has its page with product and countdown, says so in two languages, and goes on by itself', async () => {
  const sale = await shop.sale(DAY_MS, [{ name: NAME, units: 5 }], { name: NAME, lastsMs: DAY_MS })
  await until('its page is written', () => existsSync(fileOf(sale)))
  // The front page is written last.
  await until('the front page has it', () => readFileSync(join(folder, 'index.html'), 'utf8').includes(sale.id))
  await shop.site.server().kill()

  const visitor = await browser.visitor(() => url, { cut: true })
  const page = await visitor.tab(sale.path)
  await button(page, 'away').waitFor()
  expect(await button(page, 'away').innerText()).toBe('We’ll be right back')
  expect(await page.locator('h1').innerText()).toBe(NAME)
  expect(await page.title()).toBe(`${NAME} · Stampede`)
  expect(await page.locator('.price').innerText()).toContain('1,999')
  expect(await page.locator('main b', { hasText: 'bowls' }).count()).toBe(0)
  // By the clock of the proxy: it counts, and is right to a few seconds.
  const left = async () => Number(await page.locator('.digits').getAttribute('data-left'))
  const first = await left()
  expect(Math.abs(first - (sale.opensAtMs - systemClock.now()) / 1000)).toBeLessThan(60)
  await until('the countdown counts', async () => (await left()) < first)
  await button(page, 'away').click({ force: true })
  expect(visitor.ordersSent()).toBe(0)
  expect(await barriers(page)).toEqual([])
  await page.locator('.language').click()
  await page.locator('.main-button', { hasText: '马上回来' }).waitFor()
  expect(await page.locator('.note').first().innerText()).toContain('自动继续')
  await page.locator('.language').click()

  // The front page has the sale too.
  const front = await visitor.tab('/')
  await button(front, 'away').waitFor()
  expect(await front.locator('h1').innerText()).toBe(NAME)
  await front.close()

  await shop.site.startAgain('')
  await button(page, 'before').waitFor()
  await shop.openIn(sale, 1_000)
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

test('the page of a sale follows every change, and asks nothing of the network to show it', async () => {
  const sale = await shop.sale(DAY_MS, [{ name: 'First name', units: 5 }])
  const shows = (text: string) =>
    until(`the page says ${text}`, () => existsSync(fileOf(sale)) && readFileSync(fileOf(sale), 'utf8').includes(text))
  await shows('First name')
  await shop.till.operator('PATCH', `/sales/${sale.id}`, { name: 'Second name' })
  await shows('Second name')

  const visitor = await browser.visitor(() => url, { cut: true })
  const page = await visitor.context.newPage()
  await page.route('**/api/**', route => route.abort())
  await page.goto(url + sale.path)
  await button(page, 'away').waitFor()
  expect(await page.locator('h1').innerText()).toBe('First name')
  // Without any clock but the device's own there is no countdown, only the time.
  expect(await page.locator('.digits').count()).toBe(0)
  expect(await page.locator('.clock').innerText()).toContain('Opens')
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()

  await shop.till.operator('POST', `/sales/${sale.id}/pause`)
  await shows('"state":"paused"')
  await shop.till.operator('POST', `/sales/${sale.id}/end`)
  await shows('"state":"over"')
})
