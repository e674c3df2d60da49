/** The end of the React how-to, in a real browser: counts down, buys two, pays, is sold out for the next. */

import { expect } from 'bun:test'
import { barriers, openBrowser } from '../harness/browser.ts'
import type { Playground } from '../harness/playground.ts'

export async function buyInReactPage(playground: Playground, page: string): Promise<void> {
  const browser = await openBrowser(playground)
  const visit = async () => {
    // The sandbox's pay page is another origin: the list of complaints is for pages of one.
    const { context } = await browser.visitor(() => page)
    const tab = await context.newPage()
    await tab.goto(page)
    return tab
  }
  const ada = await visit()
  await ada.locator('.buy[data-state=before], .buy[data-state=live]').waitFor()
  await ada.locator('.buy[data-state=live]').waitFor()
  expect(await barriers(ada)).toEqual([])
  await ada.getByRole('button', { name: 'More' }).click()
  await ada.getByRole('button', { name: 'Buy now' }).click()
  await ada.getByRole('button', { name: 'Pay now' }).waitFor()
  expect(await ada.locator('.clock').innerText()).toMatch(/^00:1[45]:\d\d$/)
  expect(await barriers(ada)).toEqual([])
  await ada.getByRole('button', { name: 'Pay now' }).click()
  await ada.waitForURL(/\/sandbox\/pay\//)
  await ada.locator('form[action$=approve] button').first().click()
  await ada.waitForURL(`${page}/**`)
  await ada.locator('.buy[data-state=paid]').waitFor()
  for (const [quantity, left] of [
    [2, '1 left'],
    [1, '0 left'],
  ] as const) {
    const other = await visit()
    await other.locator('.buy[data-state=live]').waitFor()
    if (quantity === 2) await other.getByRole('button', { name: 'More' }).click()
    await other.getByRole('button', { name: 'Buy now' }).click()
    await other.locator('.buy[data-state=pending]').waitFor()
    await other.getByText(left).waitFor()
  }
  const late = await visit()
  await late.locator('.buy[data-state=sold_out]').waitFor()
}
