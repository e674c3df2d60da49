/**
 * `npm run screenshots -- --out DIR`: a picture of every state of the page, light and dark, on a desk and on a phone, in English and
 * Chinese, from a real server and a real browser. Only what a server with one process never says (reserved) is put into its mouth.
 */

import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page, Route } from 'playwright-core'
import { button, openBrowser, type VisitorOptions } from '../harness/browser.ts'
import { Playground } from '../harness/playground.ts'
import { ensureServers } from '../servers.ts'
import { LINE_SCENES } from './line-scenes.ts'
import { openPageShop, type PageShop } from './page-shop.ts'

const DESK = { viewport: { width: 1280, height: 860 } }
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }
const TEAPOT = { name: 'Hand-thrown teapot, celadon glaze', units: 100, price: 199_900, listPrice: 299_900 }
const ORDER_PATH = /\/items\/\d+\/orders$/

export interface Scene {
  readonly name: string
  /** More than the plain look: dark, phone and Chinese too. */
  readonly main?: boolean
  readonly options?: VisitorOptions
  prepare?(shop: PageShop): Promise<string>
  play(page: Page, shop: PageShop): Promise<unknown>
}

const open =
  (units = 100, more: object = {}) =>
  async (shop: PageShop) => {
    const sale = await shop.sale(-60_000, [{ ...TEAPOT, units, ...more }])
    for (let i = 0; i < 37; i++) await shop.take(sale, `other-${i}`, 1)
    return sale.path
  }

async function place(page: Page): Promise<void> {
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
}

async function pay(page: Page): Promise<void> {
  await page.locator('.button-pay').click()
  await page.locator('button.approve').click()
  await page.locator('.panel-paid').waitFor()
}

const SCENES: readonly Scene[] = [
  {
    name: 'before',
    main: true,
    prepare: async shop => (await shop.sale(754_000, [TEAPOT])).path,
    play: page => button(page, 'before').waitFor(),
  },
  {
    name: 'ready',
    prepare: async shop => (await shop.sale(12_000, [TEAPOT])).path,
    play: page => page.locator('.ready').waitFor(),
  },
  {
    name: 'opening',
    prepare: async shop => (await shop.sale(6_000, [TEAPOT])).path,
    play: page => button(page, 'opening').waitFor(),
  },
  { name: 'live', main: true, prepare: open(), play: page => button(page, 'live').waitFor() },
  {
    name: 'live-few',
    prepare: async shop => {
      const sale = await shop.sale(-60_000, [{ ...TEAPOT, units: 30, quantityMax: 3 }])
      for (let i = 0; i < 8; i++) await shop.take(sale, `other-${i}`, 3)
      return sale.path
    },
    play: page => page.locator('.stock-few').waitFor(),
  },
  {
    name: 'sending',
    prepare: open(),
    play: async page => {
      await page.route(ORDER_PATH, () => {})
      await button(page, 'live').click()
      await button(page, 'sending').waitFor()
    },
  },
  {
    name: 'sending-again',
    options: { cut: true },
    prepare: open(),
    play: async page => {
      await page.route(ORDER_PATH, route => route.abort())
      await button(page, 'live').click()
      await page.locator('.note', { hasText: 'asking again' }).waitFor()
    },
  },
  {
    name: 'reserved',
    prepare: open(),
    play: async page => {
      const reserve = async (route: Route) => {
        const answer = await route.fetch()
        const order = await answer.json()
        await route.fulfill({ response: answer, status: 202, json: { ...order, state: 'reserved', payBy: undefined } })
      }
      await page.route(ORDER_PATH, reserve)
      await page.route(/\/api\/orders/, () => {})
      await page.routeWebSocket(/live/, () => {})
      await page.reload()
      await button(page, 'live').click()
      await button(page, 'reserved').waitFor()
    },
  },
  { name: 'placed', main: true, prepare: open(), play: place },
  {
    name: 'cancel-asked',
    prepare: open(),
    play: async page => {
      await place(page)
      await page.getByText('Cancel order').click()
    },
  },
  {
    name: 'cancelled',
    prepare: open(),
    play: async page => {
      await place(page)
      await page.getByText('Cancel order').click()
      await page.getByText('Yes, cancel it').click()
      await page.locator('.last-order').waitFor()
    },
  },
  {
    name: 'sold-out',
    main: true,
    prepare: async shop => {
      const sale = await shop.sale(-60_000, [TEAPOT])
      await shop.till.stock(sale.id, sale.items[0]!.id, -100, 'gone')
      return sale.path
    },
    play: page => button(page, 'sold_out').waitFor(),
  },
  {
    name: 'over',
    prepare: async shop => {
      const sale = await shop.sale(-60_000, [TEAPOT])
      await shop.till.move(sale.id, 'end')
      return sale.path
    },
    play: page => button(page, 'over').waitFor(),
  },
  {
    name: 'paused',
    prepare: async shop => {
      const sale = await shop.sale(-60_000, [TEAPOT])
      await shop.till.move(sale.id, 'pause')
      return sale.path
    },
    play: page => button(page, 'paused').waitFor(),
  },
  {
    name: 'rate-limited',
    prepare: open(),
    play: async page => {
      const json = { code: 'rate_limited', title: 'Too many requests', status: 429 }
      await page.route(ORDER_PATH, route =>
        route.fulfill({ status: 429, headers: { 'retry-after': '4' }, json, contentType: 'application/problem+json' }),
      )
      await button(page, 'live').click()
      await button(page, 'limited').waitFor()
    },
  },
  {
    name: 'offline',
    main: true,
    options: { cut: true },
    prepare: open(),
    play: async page => {
      await button(page, 'live').waitFor()
      await page.context().setOffline(true)
      await button(page, 'offline').waitFor()
    },
  },
  {
    name: 'signed-out',
    prepare: open(),
    play: async page => {
      await page.context().clearCookies()
      await page.route('**/api/session', route => route.fulfill({ json: { buyer: null, guests: false } }))
      await page.reload()
      await button(page, 'signed_out').waitFor()
    },
  },
  {
    name: 'paid',
    main: true,
    prepare: open(),
    play: async page => {
      await place(page)
      await pay(page)
    },
  },
  {
    name: 'paid-on-sale',
    prepare: open(),
    play: async page => {
      await place(page)
      await pay(page)
      await page.goBack()
      await page.goBack()
      await page.locator('.panel-paid').waitFor()
    },
  },
  {
    name: 'order-pending',
    prepare: open(),
    play: async page => {
      await place(page)
      await page.getByText('See the order').click()
      await page.locator('.facts').waitFor()
    },
  },
  {
    name: 'order-unpaid',
    prepare: open(100, { payWithinSeconds: 1 }),
    play: async page => {
      await place(page)
      await page.locator('.last-order a').click()
      await page.locator('.panel-closed').waitFor()
    },
  },
  {
    name: 'orders',
    main: true,
    play: async (page, shop) => {
      for (const item of [
        { name: 'Cast-iron kettle', units: 5, price: 45_000 },
        { name: '龙井绿茶礼盒', units: 20, price: 12_800, quantityMax: 2 },
        { name: 'Walnut tea tray', units: 9, price: 66_000 },
      ]) {
        const sale = await shop.sale(-60_000, [item])
        await page.goto(shop.url() + sale.path)
        await place(page)
        if (item.units === 5) await pay(page)
        if (item.units === 20) {
          await page.locator('.plain-button').click()
          await page.locator('.danger').click()
          await page.locator('.last-order').waitFor()
        }
      }
      await page.goto(`${shop.url()}/orders`)
      await page.locator('.order-row').nth(2).waitFor()
    },
  },
  { name: 'orders-none', prepare: async () => '/orders', play: page => page.locator('.empty h1').waitFor() },
  { name: 'not-found', prepare: async () => '/s/1', play: page => page.locator('.empty h1').waitFor() },
  {
    name: 'several-items',
    main: true,
    prepare: async shop => {
      const items = [
        TEAPOT,
        { name: 'Cast-iron kettle', units: 40, price: 45_000, listPrice: 60_000 },
        { name: 'Walnut tea tray', units: 12, price: 66_000, quantityMax: 2 },
      ]
      return (await shop.sale(-60_000, items, { name: 'The autumn tea table' })).path
    },
    play: page => button(page, 'live').first().waitFor(),
  },
  {
    name: 'hard-names',
    prepare: async shop => {
      const items = [
        { name: '<script>alert(1)</script><b onclick="x">bold</b>', units: 3, price: 999_999_999_999 },
        { name: 'مرحبا بالعالم إبريق شاي مصنوع يدويا', units: 3 },
        { name: '👩‍👩‍👧‍👦🫖 '.repeat(9), units: 3 },
        { name: 'W'.repeat(200), units: 3 },
      ]
      return (await shop.sale(-60_000, items, { name: 'Ω'.repeat(200) })).path
    },
    play: page => button(page, 'live').first().waitFor(),
  },
  {
    name: 'home',
    main: true,
    prepare: async shop => {
      await shop.sale(600_000, [{ name: 'Walnut tea tray', units: 12, price: 66_000 }], { name: 'Wood and tea' })
      const iron = ['Cast-iron kettle', 'Trivet with a long name for a small thing', 'Pan', 'Hook', 'Bell']
      const items = iron.map((name, i) => ({ name, units: 12, price: 45_000 + i * 1_000_000 }))
      await shop.sale(-60_000, items, { name: 'Iron week' })
      await shop.sale(-60_000, [TEAPOT], { name: 'Autumn evening' })
      return '/'
    },
    play: page => page.locator('.tile').nth(2).waitFor(),
  },
  ...LINE_SCENES,
]

const LOOKS: readonly { readonly name: string; readonly options: VisitorOptions; readonly onlyMain: boolean }[] = [
  { name: 'desk-light-en', options: DESK, onlyMain: false },
  { name: 'desk-dark-en', options: { ...DESK, colorScheme: 'dark' }, onlyMain: true },
  { name: 'phone-light-zh', options: { ...PHONE, locale: 'zh-CN' }, onlyMain: true },
  { name: 'phone-dark-en', options: { ...PHONE, colorScheme: 'dark' }, onlyMain: true },
]

async function main(args: readonly string[]): Promise<void> {
  const at = args.indexOf('--out')
  const out = at < 0 ? undefined : args[at + 1]
  if (out === undefined) throw new Error('usage: npm run screenshots -- --out DIR [part of a name]')
  const only = args[at + 2] ?? ''
  ensureServers(['chromium', 'fonts-noto-cjk'], line => process.stdout.write(`${line}\n`))
  mkdirSync(out, { recursive: true })
  const playground = new Playground()
  try {
    const shop = await openPageShop(playground)
    const { visitor } = await openBrowser(playground)
    for (const look of LOOKS) {
      for (const scene of SCENES) {
        const name = `${scene.name}-${look.name}`
        if ((look.onlyMain && scene.main !== true) || !name.includes(only)) continue
        const path = (await scene.prepare?.(shop)) ?? '/orders'
        const person = await visitor(() => shop.url(), { ...look.options, ...scene.options })
        const page = await person.tab(path)
        await scene.play(page, shop)
        await page.screenshot({ path: join(out, `${name}.png`), fullPage: true })
        await person.context.close()
        await shop.endAll()
        process.stdout.write(`${name}.png ${person.complaints().join('; ')}\n`)
      }
    }
    process.stdout.write(`written to ${resolve(out)}\n`)
  } finally {
    await playground.undo()
  }
}

await main(process.argv.slice(2))
await import('../ops/screenshots.ts')
