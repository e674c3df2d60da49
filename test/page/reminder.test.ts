/** Before the opening: the calendar entry, and the reminder one minute before, with and without notifications. */

import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { barriers, button } from '../harness/browser.ts'
import { until } from '../harness/until.ts'
import { pageStage } from './page-shop.ts'

const stage = pageStage()
const HOUR_MS = 3_600_000
/** The moment of the reminder, a little later. */
const SOON_MS = 62_000
const PHONE = { viewport: { width: 360, height: 700 }, hasTouch: true, isMobile: true, locale: 'zh-CN' }

interface Told {
  asked: number
  shown: string[]
  tones: number
}

/** What the page asks of the device. `desk`: the buyer allows notifications when asked. `android`: a page can't make any. */
function device(kind: string) {
  const told = { asked: 0, shown: [] as string[], tones: 0 }
  const KEY = 'test.permission'
  const make = AudioContext.prototype.createOscillator
  AudioContext.prototype.createOscillator = function () {
    told.tones += 1
    return make.call(this)
  }
  class Notice {
    constructor(title: string) {
      if (kind === 'android') throw new TypeError('Illegal constructor')
      if (Notice.permission === 'granted') told.shown.push(title)
    }
    static get permission() {
      return localStorage.getItem(KEY) ?? 'default'
    }
    static async requestPermission() {
      told.asked += 1
      localStorage.setItem(KEY, 'granted')
      return 'granted'
    }
  }
  Object.assign(globalThis, { told, Notification: Notice })
}

const told = (page: Page) => page.evaluate('globalThis.told') as Promise<Told>
const note = (page: Page, text: string) => page.locator('.reminder .note', { hasText: text }).waitFor()
const title = (page: Page, start: string) => page.waitForFunction(text => document.title.startsWith(text), start)

test('reminds by notification, sound and title, once, also after a reload; asks only when the button is pressed', async () => {
  const sale = await stage.shop.sale(HOUR_MS, [{ units: 3 }])
  const visitor = await stage.newVisitor()
  await visitor.context.addInitScript(device, 'desk')
  const page = await visitor.tab(sale.path)
  const remind = page.getByRole('button', { name: 'Remind me one minute before' })
  await remind.waitFor()
  expect(await barriers(page)).toEqual([])
  const href = await page.getByRole('link', { name: 'Add to my calendar' }).getAttribute('href')
  const entry = await fetch(stage.shop.url() + href)
  expect([entry.status, (await entry.text()).split('\r\n')[0]]).toEqual([200, 'BEGIN:VCALENDAR'])
  expect((await told(page)).asked).toBe(0)
  await remind.focus()
  await page.keyboard.press('Enter')
  await note(page, 'a notification and a short sound. Keep this page open')
  expect(await remind.getAttribute('aria-pressed')).toBe('true')
  expect((await told(page)).asked).toBe(1)
  await page.locator('[data-voice]', { hasText: 'The reminder is set' }).waitFor()
  expect(await barriers(page)).toEqual([])

  await page.reload()
  await note(page, 'To hear the sound, press anything on this page once')
  expect(await remind.getAttribute('aria-pressed')).toBe('true')
  await page.keyboard.press('Shift')
  await until('the sound may be heard', async () => !(await page.locator('.reminder').innerText()).includes('To hear'))
  expect(await told(page)).toEqual({ asked: 0, shown: [], tones: 0 })
  await stage.shop.openIn(sale, SOON_MS)
  await title(page, 'Opens in a minute · Autumn evening')
  expect(await told(page)).toEqual({ asked: 0, shown: ['Autumn evening'], tones: 3 })
  await note(page, 'less than a minute')
  expect(await barriers(page)).toEqual([])

  await page.reload()
  await title(page, 'Opens in a minute · Autumn evening')
  expect((await told(page)).shown).toEqual([])
  // Put off: the reminder stands again.
  await stage.shop.openIn(sale, HOUR_MS)
  await title(page, 'Autumn evening')
  await stage.shop.openIn(sale, SOON_MS)
  await until('the second reminder', async () => (await told(page)).shown.length === 1)
  await stage.shop.openIn(sale, 2_000)
  await button(page, 'live').waitFor()
  expect(await page.title()).toBe('Autumn evening · Stampede')
  expect(await page.locator('.reminder').count()).toBe(0)
  expect(await page.evaluate(id => localStorage.getItem(`stampede.reminder.${id}`), sale.id)).toBeNull()
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
}, 300_000)

test('on a phone whose pages can’t notify it asks for nothing, says so, and reminds by sound and title; switched off it is silent', async () => {
  const sale = await stage.shop.sale(HOUR_MS, [{ units: 3 }, { units: 2 }])
  const visitor = await stage.newVisitor(PHONE)
  await visitor.context.addInitScript(device, 'android')
  const [page, silent] = [await visitor.tab(sale.path), await (await stage.newVisitor(PHONE)).tab(sale.path)]
  await page.getByRole('button', { name: '开抢前一分钟提醒我' }).tap()
  await note(page, '此浏览器不显示本页的通知')
  expect(await barriers(page)).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  const other = silent.getByRole('button', { name: '开抢前一分钟提醒我' })
  await other.tap()
  await note(silent, '已设置提醒')
  await other.tap()
  await note(silent, '提醒方式为')
  await stage.shop.openIn(sale, SOON_MS)
  await title(page, '一分钟后开抢 · ')
  expect(await told(page)).toEqual({ asked: 0, shown: [], tones: 3 })
  await note(silent, '不到一分钟')
  expect(await silent.title()).toBe('Autumn evening · Stampede')
  expect(visitor.complaints()).toEqual([])
  await visitor.context.close()
  await silent.context().close()
}, 300_000)
