/** The access list on the operations page: adding, a value that is no range, taking off; on a phone, in Chinese. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { barriers } from '../harness/browser.ts'
import { Playground } from '../harness/playground.ts'
import { complaintsOf, confirm, type OpsDesk, openOpsDesk } from './ops-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let desk: OpsDesk
beforeAll(async () => {
  desk = await openOpsDesk(playground)
})
afterAll(() => playground.undo())

test('an operator keeps a network out, is told of a value that is no range, and lets it in again', async () => {
  const { person, page } = await desk.operator('/ops/lists')
  await page.getByRole('heading', { name: 'The list is empty' }).waitFor()
  expect(await barriers(page)).toEqual([])
  await page.locator('input[name=value]').fill('203.0.113.0/99')
  await page.locator('[data-action=add]').click()
  await page.getByText('is not a range of addresses').waitFor()
  await page.locator('input[name=value]').fill('203.0.113.0/24')
  await page.locator('input[name=reason]').fill('<b>900</b> accounts')
  await page.locator('[data-action=add]').click()
  const row = page.locator('[data-entry]')
  await row.waitFor()
  expect(await row.textContent()).toContain('203.0.113.0/24')
  expect(await row.textContent()).toContain('<b>900</b> accounts')
  expect(await barriers(page)).toEqual([])
  await confirm(page, 'remove')
  await page.getByRole('heading', { name: 'The list is empty' }).waitFor()
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('fits on a phone, in Chinese', async () => {
  const { person, page } = await desk.operator('/ops/lists', {
    locale: 'zh-CN',
    viewport: { width: 360, height: 740 },
  })
  await page.getByRole('heading', { name: '名单', level: 1 }).waitFor()
  await page.locator('#access-subject').selectOption('buyer')
  await page.locator('input[name=value]').fill('a-buyer-with-quite-a-long-name-0123456789')
  await page.locator('[data-action=add]').click()
  await page.locator('[data-entry]').waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  await person.context.close()
})
