/** A sale that asks for a proof of work: the page solves it by itself, while the buyer waits for the opening. */

import { expect, test } from 'bun:test'
import { barriers, button } from '../harness/browser.ts'
import { pageStage } from './page-shop.ts'

const stage = pageStage()

test('the challenge is solved during the countdown, and the buyer notices nothing of it', async () => {
  const sale = await stage.shop.sale(600_000, [{ units: 3 }], { challenge: 'auto' })
  const visitor = await stage.newVisitor()
  await visitor.context.addInitScript(() => {
    Math.random = () => 0.01
  })
  const page = await visitor.tab(sale.path)
  const statuses: number[] = []
  page.on('response', response => {
    if (response.url().endsWith('/ticket')) statuses.push(response.status())
  })
  await stage.shop.openIn(sale, 60_000)
  await page.locator('.ready').waitFor()
  expect(statuses).toEqual([403, 201])
  await stage.shop.openIn(sale, 3_000)
  await button(page, 'live').click()
  await page.locator('.panel-pending').waitFor()
  expect(await barriers(page)).toEqual([])
  expect(visitor.complaints().filter(line => !line.includes('403'))).toEqual([])
  await visitor.context.close()
})

test('a browser that can not solve it is told so', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }], { challenge: 'auto' })
  const visitor = await stage.newVisitor()
  await visitor.context.addInitScript(() => {
    delete (globalThis as { Worker?: unknown }).Worker
  })
  const page = await visitor.tab(sale.path)
  await button(page, 'live').click()
  await page.locator('.note', { hasText: 'This browser can’t do the check' }).waitFor()
  await visitor.context.close()
})
