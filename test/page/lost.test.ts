import { expect, test } from 'bun:test'
import { barriers, button } from '../harness/browser.ts'
import { pageStage } from './page-shop.ts'

// An address that does not exist, a calendar entry, and times in the buyer's own zone where money is asked for.

const stage = pageStage()

test('an address that does not exist shows a page in the buyer’s language, and a program gets a problem', async () => {
  for (const [locale, words] of [
    ['en-GB', 'not found'],
    ['zh-CN', '页面不存在'],
  ] as const) {
    const visitor = await stage.newVisitor({ locale })
    const page = await visitor.tab('/')
    const answered = await page.goto(`${stage.shop.url()}/no/such/page`)
    expect(answered?.status()).toBe(404)
    await page.locator('main h1, main h2').first().waitFor()
    console.log(`${locale}: ${await page.locator('main').textContent()}`)
    expect((await page.locator('main').textContent())?.toLowerCase()).toContain(words)
    expect(await barriers(page)).toEqual([])
    await page.locator('main a[href="/"]').click()
    await page.waitForURL(`${stage.shop.url()}/`)
    // The browser's own line about the page that was asked for.
    expect(visitor.complaints()).toEqual([expect.stringMatching(/status of 404 .*\/no\/such\/page/)])
  }
  const ask = (path: string, accept: string) => fetch(stage.shop.url() + path, { headers: { accept } })
  for (const [path, accept] of [
    ['/no/such/page', '*/*'],
    ['/no/such/page', 'application/json'],
    ['/api/nothing', 'text/html'],
  ] as const) {
    const answer = await ask(path, accept)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
  }
  const ops = await ask('/ops/nothing', 'text/html')
  expect([ops.status, ops.headers.get('cache-control'), ops.headers.get('etag')]).toEqual([404, 'no-store', null])
})

test('the page to pay on shows the deadline by the buyer’s own clock', async () => {
  const sale = await stage.shop.sale(-1_000, [{ units: 3 }])
  const visitor = await stage.newVisitor({ timezoneId: 'Asia/Shanghai' })
  const page = await visitor.tab(sale.path)
  await button(page, 'live').click()
  await page.locator('.button-pay').click()
  await page.locator('button.decline').waitFor()
  const time = page.locator('time')
  const at = Date.parse((await time.getAttribute('datetime'))!)
  const clock = new Intl.DateTimeFormat('en', {
    timeZone: 'Asia/Shanghai',
    hour: 'numeric',
    minute: '2-digit',
    hour12: true,
  })
  expect((await time.textContent())?.replaceAll('\u202f', ' ')).toContain(
    clock.format(at).replaceAll('\u202f', ' ').split(' ')[0]!.split(':').slice(0, 2).join(':'),
  )
  expect(await time.textContent()).toContain('GMT+8')
  expect(visitor.complaints()).toEqual([])
})

test('a sale that opens later can be kept in the buyer’s own calendar, whatever it is called', async () => {
  const name = `七月; "tea", and, ${'长'.repeat(60)}`
  const sale = await stage.shop.sale(3_600_000, [{ units: 3 }], { name })
  const file = await fetch(`${stage.shop.url()}/s/${sale.id}/opening.ics`)
  expect(file.headers.get('content-type')).toBe('text/calendar; charset=utf-8')
  expect(file.headers.get('content-disposition')).toBe(`attachment; filename="sale-${sale.id}.ics"`)
  const bytes = Buffer.from(await file.arrayBuffer())
  const text = bytes.toString('utf8')
  expect(text).not.toContain('\ufffd')
  const lines = text.split('\r\n')
  expect(Math.max(...lines.map(line => Buffer.byteLength(line)))).toBeLessThanOrEqual(75)
  const unfolded = text.replaceAll('\r\n ', '')
  expect(unfolded).toContain(`SUMMARY:${name.replace(/[\\;,]/g, '\\$&')}\r\n`)
  const opens = new Date(
    ((await (await fetch(`${stage.shop.url()}/api/sales/${sale.id}`)).json()) as { opensAt: string }).opensAt,
  )
    .toISOString()
    .replace(/[-:]|\.\d{3}/g, '')
  expect(unfolded).toContain(`DTSTART:${opens}\r\n`)
  expect(unfolded.match(/TRIGGER:-PT(10|1)M/g)).toHaveLength(2)
  expect((await fetch(`${stage.shop.url()}/s/1/opening.ics`)).status).toBe(404)
})
