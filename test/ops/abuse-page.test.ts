/** Who was turned away, on the operations page and by the API: counted by reason, network and claim, and kept out from there. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { SignJWT } from 'jose'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { barriers } from '../harness/browser.ts'
import { gauge } from '../harness/gauges.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN, BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { complaintsOf, confirm, type OpsDesk, openOpsDesk } from './ops-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let desk: OpsDesk
let path: string
beforeAll(async () => {
  desk = await openOpsDesk(playground, {
    TRUSTED_PROXIES: '127.0.0.1',
    ABUSE_CLAIMS: 'phone',
    BUYER_JWT_SECRET,
    RATE_PER_ADDRESS: '1000/1h',
    RATE_PER_IPV4_24: '3/1h',
  })
  const till = new Till(() => desk.shop.url())
  const opensAtMs = systemClock.now() - 1_000
  const sale = (await till.operator('POST', '/sales', {
    name: 'Friday',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 5 }],
  })) as unknown as { id: string; items: { id: string }[] }
  await till.operator('POST', `/sales/${sale.id}/publish`)
  path = `/api/sales/${sale.id}/items/${sale.items[0]!.id}`
})
afterAll(() => playground.undo())

async function send(what: 'ticket' | 'orders', from: string, bearer: string) {
  const headers = { authorization: `Bearer ${bearer}`, 'x-forwarded-for': from }
  const answer = await fetch(`${desk.shop.url()}${path}/${what}`, { method: 'POST', headers })
  return ((await answer.json()) as { code?: string }).code ?? answer.status
}

async function abuse() {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  return (await (await fetch(`${desk.shop.url()}/api/admin/abuse`, { headers })).json()) as Record<string, unknown>
}

test('counts by reason, network and claim; keeps a network out from the page, and forged tokens count no claim', async () => {
  const { person, page } = await desk.operator('/ops/abuse')
  await page.getByRole('heading', { name: 'None was turned away' }).waitFor()
  expect(await barriers(page)).toEqual([])

  // Each from an address of its own: the fourth meets the limit of the whole network.
  for (let n = 1; n <= 3; n++) expect(await send('orders', `203.0.113.${n}`, 'forged')).toBe('ticket_invalid')
  for (let n = 4; n <= 9; n++) expect(await send('orders', `203.0.113.${n}`, 'forged')).toBe('rate_limited')
  expect(await send('orders', '2001:db8:1:ab12::7', 'forged')).toBe('ticket_invalid')
  const key = (text: string) => new TextEncoder().encode(text)
  const token = (secret: string) =>
    new SignJWT({ phone: 'none' })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('ann')
      .setExpirationTime('1h')
      .sign(key(secret))
  const till = new Till(() => desk.shop.url())
  await till.operator('POST', '/lists', { kind: 'deny', subject: 'buyer', value: 'ann' })
  expect(await send('ticket', '192.0.2.1', await token(BUYER_JWT_SECRET))).toBe('denied')
  expect(await send('ticket', '192.0.2.1', await token('another secret of 32 characters!'))).toBe('unauthenticated')

  expect(await abuse()).toMatchObject({
    reasons: { rate_limited: 6, ticket_invalid: 4, denied: 1, unauthenticated: 1 },
    networks: [
      {
        network: '203.0.113.0/24',
        total: 9,
        atLeast: 9,
        reasons: { rate_limited: 6, ticket_invalid: 3 },
        denied: false,
      },
      { network: '192.0.2.0/24', total: 2 },
      { network: '2001:db8:1::/48', total: 1 },
    ],
    claims: [{ claim: 'phone=none', total: 1, atLeast: 1, reasons: { denied: 1 }, denied: false }],
    risk: 'off',
  })
  expect(await gauge(desk.shop, 'stampede_refusals_total{reason="rate_limited"}')).toBe(6)

  const row = page.locator('[data-top="203.0.113.0/24"]')
  await row.waitFor()
  expect(await row.textContent()).toContain('Too many requests 6')
  expect(await barriers(page)).toEqual([])
  expect(await confirm(page, 'deny')).toBe('Keep it out for two hours?')
  await row.getByText('kept out').waitFor()
  expect(await send('orders', '203.0.113.250', 'forged')).toBe('denied')
  await until('it is counted', async () => {
    const { networks } = (await abuse()) as { networks: { network: string; denied: boolean }[] }
    return networks[0]?.network === '203.0.113.0/24' && networks[0].denied
  })
  expect(complaintsOf(person)).toEqual([])
  await person.context.close()
})

test('fits on a phone, in Chinese', async () => {
  const { person, page } = await desk.operator('/ops/abuse', {
    locale: 'zh-CN',
    viewport: { width: 360, height: 740 },
  })
  await page.getByRole('heading', { name: '已拒绝', level: 1 }).waitFor()
  await page.locator('[data-reason=rate_limited]').waitFor()
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
  expect(await barriers(page)).toEqual([])
  await person.context.close()
})
