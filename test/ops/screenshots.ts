/**
 * A picture of every state of the operations page, light and dark, on a desk and on a phone, in English and Chinese, from a real server
 * and a real browser: `bun test/ops/screenshots.ts --out DIR [part of a name]`.
 */

import { mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import type { VisitorOptions } from '../harness/browser.ts'
import { atMost } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { ensureServers } from '../servers.ts'
import { confirm, type OpsDesk, openOpsDesk, signIn } from './ops-desk.ts'

const DESK = { viewport: { width: 1280, height: 900 } }
const PHONE = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true }

interface Scene {
  readonly name: string
  readonly main?: boolean
  readonly options?: VisitorOptions
  /** The address to be at, signed in unless `out`. */
  readonly path: (ids: ShopIds) => string
  readonly out?: boolean
  play?(page: Page, desk: OpsDesk): Promise<unknown>
}

interface ShopIds {
  readonly draft: string
  readonly running: string
  readonly coming: string
  readonly hard: string
  readonly orders: readonly string[]
}

const SCENES: readonly Scene[] = [
  { name: 'sign-in', main: true, out: true, path: () => '/ops' },
  {
    name: 'sign-in-wrong',
    out: true,
    path: () => '/ops',
    play: async page => {
      await signIn(page, 'not the token')
      await page.locator('.sign-in .refused').waitFor()
    },
  },
  { name: 'sales', main: true, path: () => '/ops', play: page => page.locator('.sale-row').nth(3).waitFor() },
  {
    name: 'running',
    main: true,
    path: ids => `/ops/sales/${ids.running}`,
    play: page => page.locator('.lines tbody tr').first().waitFor(),
  },
  { name: 'coming', path: ids => `/ops/sales/${ids.coming}`, play: page => page.locator('.pieces').waitFor() },
  { name: 'draft', path: ids => `/ops/sales/${ids.draft}`, play: page => page.locator('.pieces').waitFor() },
  {
    name: 'ask-end',
    main: true,
    path: ids => `/ops/sales/${ids.running}`,
    play: async page => {
      await page.locator('[data-action=end]').click()
      await page.locator('dialog[open]').waitFor()
    },
  },
  {
    name: 'ask-stock-wrong',
    path: ids => `/ops/sales/${ids.running}`,
    play: async page => {
      await page.locator('[data-action=stock]').first().click()
      await page.locator('dialog [name=delta]').fill('0')
      await page.locator('dialog [name=reason]').fill('a second pallet')
      await page.locator('dialog button[type=submit]').click()
      await page.locator('dialog .refused').waitFor()
    },
  },
  {
    name: 'paused',
    path: ids => `/ops/sales/${ids.hard}`,
    play: async page => {
      await confirm(page, 'pause')
      await page.locator('.badge-paused').waitFor()
    },
  },
  { name: 'new', main: true, path: () => '/ops/new' },
  {
    name: 'new-wrong',
    path: () => '/ops/new',
    play: async page => {
      await page.locator('[name="name"]').fill('x'.repeat(10_000))
      await page.locator('[name="items.0.name"]').fill('Teapot')
      await page.locator('[name="items.0.price"]').fill('1999')
      await page.locator('.sale-form button[type=submit]').click()
      await page.locator('.refused').first().waitFor()
    },
  },
  { name: 'edit', path: ids => `/ops/sales/${ids.draft}/edit`, play: page => page.locator('fieldset').waitFor() },
  {
    name: 'edit-published',
    main: true,
    path: ids => `/ops/sales/${ids.running}/edit`,
    play: page => page.locator('fieldset').first().waitFor(),
  },
  {
    name: 'preview',
    main: true,
    path: ids => `/ops/sales/${ids.draft}/preview`,
    play: page => page.locator('[data-item]').waitFor(),
  },
  {
    name: 'result',
    main: true,
    path: ids => `/ops/sales/${ids.running}/result`,
    play: page => page.locator('[data-minute]').waitFor(),
  },
  {
    name: 'orders',
    main: true,
    path: ids => `/ops/sales/${ids.running}/orders`,
    play: page => page.locator('[data-order]').first().waitFor(),
  },
  {
    name: 'order-paid',
    main: true,
    path: ids => `/ops/orders/${ids.orders[0]}`,
    play: page => page.locator('.history li').first().waitFor(),
  },
  {
    name: 'ask-refund',
    path: ids => `/ops/orders/${ids.orders[0]}`,
    play: async page => {
      await page.locator('[data-action=refund]').click()
      await page.locator('dialog[open]').waitFor()
    },
  },
  { name: 'log', main: true, path: () => '/ops/log', play: page => page.locator('.lines tbody tr').first().waitFor() },
  { name: 'not-found', path: () => '/ops/sales/1', play: page => page.locator('.empty').waitFor() },
  {
    name: 'wrong',
    main: true,
    path: ids => `/ops/sales/${ids.running}`,
    play: async page => {
      await page.locator('.pieces').first().waitFor()
      const trouble = troubles(page.url().split('/').at(-1) ?? '')
      await page.route('**/api/admin/trouble', route => route.fulfill({ json: { trouble } }))
      await page.route('**/watch*', async route => {
        const response = await route.fetch()
        await route.fulfill({ response, json: { ...(await response.json()), trouble } })
      })
      await page.locator('[data-banner]').waitFor()
    },
  },
  {
    name: 'unreachable',
    options: { cut: true },
    path: ids => `/ops/sales/${ids.running}`,
    play: async page => {
      await page.locator('.pieces').first().waitFor()
      await page.context().setOffline(true)
      await page.locator('[data-trouble=unreachable]').waitFor()
    },
  },
]

/** More than ever happens at once: what each of them looks like. */
function troubles(sale: string) {
  const since = new Date(Date.now() - 250_000).toISOString()
  return [
    { code: 'promise_broken', which: '1', since, sale, words: 'item 71: 103 units in live orders, 100 put on sale' },
    { code: 'unsettled', count: 12, since, sale },
    { code: 'clock_skew', since, sale },
    { code: 'refunds_stuck', count: 2, since },
  ]
}

const LOOKS: readonly { readonly name: string; readonly options: VisitorOptions; readonly onlyMain: boolean }[] = [
  { name: 'desk-light-en', options: DESK, onlyMain: false },
  { name: 'desk-dark-en', options: { ...DESK, colorScheme: 'dark' }, onlyMain: true },
  { name: 'phone-light-zh', options: { ...PHONE, locale: 'zh-CN' }, onlyMain: true },
  { name: 'phone-dark-en', options: { ...PHONE, colorScheme: 'dark' }, onlyMain: true },
]

/** Sales of every kind, and buyers who were at one of them. */
async function furnish({ shop }: OpsDesk): Promise<ShopIds> {
  const { till } = shop
  const teapot = { name: 'Hand-thrown teapot, celadon glaze', units: 100, listPrice: 299_900 }
  const draft = (await till.operator('POST', '/sales', {
    name: 'New Year’s Eve',
    opensAt: '2027-12-31T22:00:00Z',
    closesAt: '2027-12-31T23:59:59Z',
    items: [{ name: '龙井绿茶礼盒', price: { amount: 12_800, currency: 'CNY' }, units: 500 }],
  })) as unknown as { id: string }
  const coming = await shop.sale(754_000, [teapot], { name: 'Winter lights' })
  const hard = await shop.sale(-60_000, [{ name: '<script>alert(1)</script>', units: 3, price: 999_999_999_999 }], {
    name: `👩‍👩‍👧‍👦 ${'Ω'.repeat(150)}`,
  })
  const over = await shop.sale(-7_200_000, [teapot], { name: 'Last week', lastsMs: 60_000 })
  void over
  const running = await shop.sale(-600_000, [teapot, { name: 'Cast-iron kettle', units: 40, price: 45_000 }], {
    name: 'The autumn tea table',
  })
  const orders = await buy(shop, running, 260)
  return { draft: draft.id, running: running.id, coming: coming.id, hard: hard.id, orders }
}

/** Guests who press, more than there is; every third of the winners pays. The ids of those that did. */
async function buy(shop: OpsDesk['shop'], sale: { id: string; items: readonly { id: string }[] }, guests: number) {
  const paid: string[] = []
  await atMost(
    16,
    Array.from({ length: guests }, (_, i) => i),
    async i => {
      const item = sale.items[i % 3 === 0 ? 1 : 0]!.id
      const post = (path: string, token: string, body?: unknown) =>
        fetch(shop.url() + path, {
          method: 'POST',
          headers: { ...(token !== '' && { authorization: `Bearer ${token}` }), 'content-type': 'application/json' },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }).then(response => response.json() as Promise<Record<string, string>>)
      const { token = '' } = await post('/api/session', '', { buyer: `guest-${i}` })
      const { ticket = '' } = await post(`/api/sales/${sale.id}/items/${item}/ticket`, token)
      const order = await post(`/api/sales/${sale.id}/items/${item}/orders`, ticket)
      if (order.state !== 'pending' || i % 4 !== 0) return
      const { payUrl = '' } = await post(`/api/orders/${order.id}/payment`, token)
      await fetch(`${payUrl}/approve`, { method: 'POST', headers: { accept: 'application/json' } })
      paid.push(order.id ?? '')
    },
  )
  return paid
}

async function main(args: readonly string[]): Promise<void> {
  const at = args.indexOf('--out')
  const out = at < 0 ? undefined : args[at + 1]
  if (out === undefined) throw new Error('usage: screenshots --out DIR [part of a name]')
  const only = args[at + 2] ?? ''
  ensureServers(['chromium', 'fonts-noto-cjk'], line => process.stdout.write(`${line}\n`))
  mkdirSync(out, { recursive: true })
  const playground = new Playground()
  try {
    const desk = await openOpsDesk(playground)
    const ids = await furnish(desk)
    for (const look of LOOKS) {
      for (const scene of SCENES) {
        const name = `ops-${scene.name}-${look.name}`
        if ((look.onlyMain && scene.main !== true) || !name.includes(only)) continue
        const options = { ...look.options, ...scene.options }
        const path = scene.path(ids)
        const person = scene.out === true ? await desk.visitor(options) : (await desk.operator(path, options)).person
        const page = person.context.pages()[0] ?? (await person.tab(path))
        await scene.play?.(page, desk)
        await page.screenshot({ path: join(out, `${name}.png`), fullPage: !scene.name.startsWith('ask') })
        await person.context.close()
        process.stdout.write(`${name}.png ${person.complaints().join('; ')}\n`)
      }
    }
    process.stdout.write(`written to ${resolve(out)}\n`)
  } finally {
    await playground.undo()
  }
}

await main(process.argv.slice(2))
