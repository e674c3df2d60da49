/** The waiting line's scenes for `npm run screenshots`. Other people's answers are put into its mouth: a line of hundreds takes long to make. */

import type { Page } from 'playwright-core'
import { toRfc3339 } from '../../src/base/clock.ts'
import { button } from '../harness/browser.ts'
import type { PageShop } from './page-shop.ts'
import type { Scene } from './screenshots.ts'

const TEAPOT = { name: 'Hand-thrown teapot, celadon glaze', units: 100, price: 199_900, listPrice: 299_900 }
const line = (page: Page, step: string) => page.locator(`.line[data-step="${step}"]`)

const openLine =
  (lineOpensInMs: number, more: Readonly<Record<string, unknown>> = {}, opensInMs = -1_000) =>
  async (shop: PageShop) => {
    const opensAt = toRfc3339(Date.now() + lineOpensInMs)
    const sale = await shop.sale(opensInMs, [TEAPOT], { line: { opensAt, order: 'arrival', ...more } })
    if (opensInMs < 0) await shop.till.operator('POST', `/sales/${sale.id}/line/pause`)
    return sale.path
  }

/** Joins, with this as the answer. */
async function joinAs(page: Page, answer: Readonly<Record<string, unknown>>): Promise<void> {
  await page.routeWebSocket(/live/, () => {})
  await page.reload()
  await page.route(/\/api\/sales\/\d+$/, async route => {
    const response = await route.fetch()
    const sale = await response.json()
    await route.fulfill({ response, json: { ...sale, line: { ...sale.line, paused: false, joined: 1_804 } } })
  })
  await page.route('**/line', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), pollAfterSeconds: 30, ...answer } })
  })
  await page.reload()
  await button(page, 'join').click()
}

const WAITING = { number: 1_312, place: 1_312, ahead: 312, estimate: { fromSeconds: 130, toSeconds: 290 }, left: 42 }

export const LINE_SCENES: readonly Scene[] = [
  {
    name: 'line-before',
    main: true,
    prepare: openLine(754_000, { order: 'draw', sealsAt: toRfc3339(Date.now() + 1_000_000) }, 1_200_000),
    play: page => line(page, 'line_before').waitFor(),
  },
  { name: 'line-join', prepare: openLine(-60_000), play: page => button(page, 'join').waitFor() },
  {
    name: 'line-waiting',
    main: true,
    prepare: openLine(-60_000),
    play: async page => {
      await joinAs(page, WAITING)
      await line(page, 'in_line').waitFor()
    },
  },
  {
    name: 'line-sold-out',
    main: true,
    prepare: openLine(-60_000),
    play: async page => {
      await joinAs(page, { ...WAITING, estimate: null, left: 0 })
      await line(page, 'in_line').waitFor()
    },
  },
  {
    name: 'line-turn',
    main: true,
    prepare: openLine(-60_000),
    play: async page => {
      await joinAs(page, { ...WAITING, state: 'admitted', ahead: 0, claimBy: toRfc3339(Date.now() + 96_000) })
      await line(page, 'let_in').waitFor()
    },
  },
  {
    name: 'line-missed',
    prepare: openLine(-60_000),
    play: async page => {
      await joinAs(page, { ...WAITING, state: 'missed', ahead: 0, estimate: null })
      await line(page, 'missed').waitFor()
    },
  },
  {
    name: 'line-draw',
    main: true,
    prepare: openLine(
      -60_000,
      { order: 'draw', sealsAt: toRfc3339(Date.now() + 3_000_000), beacon: { source: 'drand' } },
      3_600_000,
    ),
    play: async page => {
      await button(page, 'join').click()
      await line(page, 'in_line').waitFor()
      await page.locator('.line summary').click()
    },
  },
]
