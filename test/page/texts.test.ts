import { expect, test } from 'bun:test'
import { loadPages } from '../../src/edge/pages.ts'
import { salePage } from '../../src/edge/sale-page.ts'
import type { SaleAnswer } from '../../src/wire/answers.ts'
import { barriers, button } from '../harness/browser.ts'
import { pageStage } from './page-shop.ts'

// A sale with names in both languages: each buyer reads their own, the switch changes them at once, and a name that is missing is the plain one.

const stage = pageStage()
const zh = (name: string) => ({ texts: { zh: { name } } })

test('the page shows names in the language of the buyer, switches them without a reload, and falls back to the plain name', async () => {
  const { shop } = stage
  const items = [
    { units: 3, name: 'Cup', ...zh('杯子 <b>') },
    { units: 3, name: 'Plate' },
  ]
  const sale = await shop.sale(-1_000, items, { name: 'Friday', ...zh('星期五') })
  const visitor = await stage.newVisitor({ locale: 'zh-CN' })
  const page = await visitor.tab(sale.path)
  const heading = (name: string) => page.locator('h1', { hasText: name }).waitFor()
  const names = () => page.locator('.item-name').allInnerTexts()
  await heading('星期五')
  expect(await names()).toEqual(['杯子 <b>', 'Plate'])
  expect(await page.title()).toBe('星期五 · Stampede')
  expect(await barriers(page)).toEqual([])
  await page.evaluate(() => document.body.setAttribute('data-loaded', 'once'))
  await page.locator('button.language').click()
  await heading('Friday')
  expect(await names()).toEqual(['Cup', 'Plate'])
  await page.waitForFunction(() => document.title === 'Friday · Stampede')
  await page.locator('button.language').click()
  await heading('星期五')

  // The order names its item as the sale does, wherever it is listed.
  await button(page, 'live').first().click()
  await page.locator('.see-order a').first().click()
  await heading('杯子')
  await page.locator('a[href="/orders"]').first().click()
  await page.locator('.order-name', { hasText: '杯子' }).waitFor()
  await page.locator('button.language').click()
  await page.locator('.order-name', { hasText: 'Cup' }).waitFor()
  expect(await page.locator('body').getAttribute('data-loaded')).toBe('once')

  // A change reaches a page that is open.
  const other = await visitor.tab(sale.path)
  await other.locator('button.language').click()
  await other.locator('h1', { hasText: '星期五' }).waitFor()
  await shop.till.operator('PATCH', `/sales/${sale.id}`, { texts: { zh: { name: '周五' } } })
  await other.locator('h1', { hasText: '周五' }).waitFor()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
})

test('a page served as a file has the names inside, in both languages, while no server answers', async () => {
  const { shop } = stage
  const made = await shop.sale(600_000, [{ units: 3, name: 'Cup', ...zh('杯子') }], { name: 'Friday', ...zh('星期五') })
  const sale = (await (await fetch(`${shop.url()}/api${made.path.replace('/s/', '/sales/')}`)).json()) as SaleAnswer
  const body = salePage((await loadPages()).html, sale)
  const visitor = await stage.newVisitor({ locale: 'zh-CN' })
  await visitor.context.route('**/api/**', route => route.abort())
  await visitor.context.route(`**${made.path}`, route => route.fulfill({ body, contentType: 'text/html' }))
  const page = await visitor.tab(made.path)
  await page.locator('h1', { hasText: '杯子' }).waitFor()
  expect(await page.locator('.eyebrow.clamp').innerText()).toBe('星期五')
  expect(await page.title()).toBe('星期五 · Stampede')
  await page.locator('button.language').click()
  await page.locator('h1', { hasText: 'Cup' }).waitFor()
  await page.waitForFunction(() => document.title === 'Friday · Stampede')
  await visitor.context.close()
})
