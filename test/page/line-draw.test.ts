/** A draw on the page: number, seal, the awaited value, the place, and a receipt with which the buyer checks the record. */

import { expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { barriers, button } from '../harness/browser.ts'
import { listenTo } from '../harness/heard-out.ts'
import { LineShop } from '../harness/line-shop.ts'
import { buyerToken } from '../harness/money.ts'
import { PROGRAM } from '../harness/program.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { pageStage } from './page-shop.ts'

const LOTTERY = 'the numbers of a public lottery on Friday'
const stage = pageStage({
  RATE_PER_BUYER: 'off',
  RATE_PER_ADDRESS: 'off',
  CALLS_PER_ADDRESS: 'off',
  CALLS_PER_BUYER: 'off',
  BUYER_JWT_SECRET,
  GUEST_SIGN_IN: 'off',
})
const shop = new LineShop(() => stage.shop.url())

test('in Chinese on a phone: the number, the seal, the value that is awaited, the place; the receipt that was saved fits the record', async () => {
  const phone = { viewport: { width: 390, height: 844 }, locale: 'zh-CN', hasTouch: true, isMobile: true }
  const visitor = await stage.newVisitor(phone)
  const session = `${stage.shop.url()}/api/session`
  await visitor.context.request.post(session, { headers: { authorization: `Bearer ${buyerToken('ann')}` } })
  // The page's files are loaded before time counts.
  const page = await visitor.tab()
  const sealsAtMs = systemClock.now() + 6_000
  const sale = await shop.openSale({
    units: 5,
    opensInMs: 3_600_000,
    line: { order: 'draw', sealsAt: toRfc3339(sealsAtMs), beacon: { source: LOTTERY } },
  })
  for (const buyer of ['one', 'two', 'three']) await shop.join(sale, buyer)
  await page.goto(`${stage.shop.url()}/s/${sale.id}`)
  await button(page, 'join').click()
  const line = page.locator('.line')
  await line.getByText('您的号码：4').waitFor()
  await line.getByText('抽签名单已封存。').waitFor()
  await line.getByText(LOTTERY).first().waitFor()
  expect(await barriers(page)).toEqual([])
  await shop.steer(sale, 'beacon', { value: '07 12 23 31 38 44' })
  await line.getByText(/您的位置：第 [1-4] 位/).waitFor()
  await line.locator('summary').click()
  await line.getByRole('link', { name: '抽签记录' }).waitFor()
  expect(await barriers(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)

  const saved = page.waitForEvent('download')
  await line.getByRole('button', { name: '保存我的凭证' }).click()
  const receipt = await (await saved).path()
  const record = `${stage.shop.url()}/api/sales/${sale.id}/draw`
  expect(await line.locator('pre').innerText()).toContain(record)
  const check = (buyer: string) =>
    listenTo(spawn(process.execPath, [PROGRAM, 'draw', 'verify', record, '--receipt', receipt, '--buyer', buyer])).ran
  expect((await check('ann')).code).toBe(0)
  expect((await check('one')).code).toBe(1)

  // A server that answers another receipt than before is noticed, after a reload too.
  await page.route('**/line', async route => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...(await response.json()), head: 'ab'.repeat(32) } })
  })
  await page.reload()
  await until('the details are there', () => line.locator('summary').isVisible())
  await line.locator('summary').click()
  await line.getByText('服务器给出的凭证与您加入时不同。').waitFor()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
}, 300_000)
