/** Tickets bound to the sign-in or to the network that fetched them: worth nothing elsewhere, and nothing is lost for an honest buyer. */

import { afterAll, expect, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { gauge } from './harness/gauges.ts'
import { Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { Site } from './harness/site.ts'

const playground = new Playground()
afterAll(() => playground.undo())

type Headers = Readonly<Record<string, string>>

async function shopWith(binding: string) {
  const site = await Site.start(playground, {
    dataDir: playground.dataDir(),
    env: { BUYER_JWT_SECRET: '', GUEST_SIGN_IN: 'on', TICKET_BINDING: binding, TRUSTED_PROXIES: '127.0.0.1' },
  })
  const till = new Till(() => site.url())
  const opensAtMs = systemClock.now() - 1_000
  const sale = (await till.operator('POST', '/sales', {
    name: 'Friday',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 5 }],
  })) as unknown as { id: string; items: { id: string }[] }
  await till.operator('POST', `/sales/${sale.id}/publish`)
  const path = `/api/sales/${sale.id}/items/${sale.items[0]!.id}`
  const post = async (to: string, bearer: string, headers: Headers = {}) => {
    const answer = await fetch(site.url() + path + to, {
      method: 'POST',
      headers: { ...(bearer !== '' && { authorization: `Bearer ${bearer}` }), ...headers },
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, string> }
  }
  return {
    site,
    signIn: async (buyer: string) => {
      const answer = await fetch(`${site.url()}/api/session`, { method: 'POST', body: JSON.stringify({ buyer }) })
      const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0]!
      return { token: ((await answer.json()) as { token: string }).token, cookie }
    },
    ticket: async (token: string, headers: Headers = {}) => (await post('/ticket', token, headers)).body.ticket ?? '',
    order: (ticket: string, headers: Headers = {}) => post('/orders', ticket, headers),
  }
}

test('a ticket bound to the sign-in needs that very session or token, as cookie or header', async () => {
  const shop = await shopWith('sign-in')
  const [ann, bob] = [await shop.signIn('ann'), await shop.signIn('bob')]
  const ticket = await shop.ticket(ann.token)
  for (const headers of [{}, { cookie: bob.cookie }, { 'stampede-sign-in': bob.token }, { 'stampede-sign-in': '' }])
    expect(await shop.order(ticket, headers as Headers)).toMatchObject({
      status: 401,
      body: { code: 'ticket_invalid' },
    })
  // A page of another site sends the cookie, and gets nothing for it.
  expect((await shop.order(ticket, { cookie: ann.cookie, origin: 'https://evil.example' })).status).toBe(401)
  const placed = await shop.order(ticket, { cookie: ann.cookie })
  expect(placed.status).toBe(201)
  expect(await shop.order(ticket, { 'stampede-sign-in': ann.token })).toMatchObject({
    status: 200,
    body: { id: placed.body.id! },
  })
  // Another's sign-in does not find the order either.
  expect((await shop.order(ticket, { cookie: bob.cookie })).status).toBe(401)
  expect(await gauge(shop.site, 'stampede_order_asks_total{outcome="ticket_invalid"}')).toBe(6)
})

test('a ticket bound to the prefix is one within the /24 or /48, and a buyer who moved fetches another', async () => {
  const shop = await shopWith('prefix')
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const [ann, eve] = [await shop.signIn('ann'), await shop.signIn('eve')]
  const ticket = await shop.ticket(ann.token, from('203.0.113.7'))
  expect((await shop.order(ticket, from('203.0.114.7'))).body.code).toBe('ticket_invalid')
  const placed = await shop.order(ticket, from('203.0.113.200'))
  expect(placed.status).toBe(201)
  expect((await shop.order(ticket, from('198.51.100.1'))).status).toBe(401)
  // At home again, over another network: a new ticket finds the same order.
  const home = await shop.ticket(ann.token, from('198.51.100.1'))
  expect(await shop.order(home, from('198.51.100.1'))).toMatchObject({ status: 200, body: { id: placed.body.id! } })
  const v6 = await shop.ticket(eve.token, from('2001:db8:1:2::1'))
  expect((await shop.order(v6, from('2001:db8:2:2::1'))).status).toBe(401)
  expect((await shop.order(v6, from('2001:db8:1:ffff::9'))).status).toBe(201)
})
