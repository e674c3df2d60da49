import { afterEach, expect, test } from 'bun:test'
import { gauges } from './harness/gauges.ts'
import { Playground } from './harness/playground.ts'
import { type RawAnswer, RawSocket } from './harness/raw-socket.ts'
import { Shop } from './harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const [RUDE, POLITE] = ['127.0.0.2', '127.0.0.3']
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

const playground = new Playground()
afterEach(() => playground.undo())

async function openShop(env: Readonly<Record<string, string>>) {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const shop = new Shop(() => server.url())
  const open = (from: string) => RawSocket.open(playground, server.url(), { from })
  /** Each over a connection of its own. */
  async function call(from: string, method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
    const answer = await (await open(from)).ask(method, path, headers, method === 'POST' ? '{}' : undefined)
    if (answer === undefined) throw new Error('the server hung up')
    return answer
  }
  return { server, shop, open, call }
}

test('an address that floods what has no limit of its own is refused, and nobody else is', async () => {
  const { server, shop, call } = await openShop({ RATE_CALLS_PER_ADDRESS: '12/1h' })
  const sale = await shop.openSale(-1_000, [{ units: 5 }])
  const item = sale.items[0]!.id
  const bearer = { authorization: `Bearer ${await shop.buyerToken('ann')}` }
  const ticket = await shop.ticket('ann', sale.id, item)
  await shop.order(ticket, 1)
  const calls: readonly (() => Promise<RawAnswer>)[] = [
    () => call(RUDE, 'GET', '/api/sales'),
    () => call(RUDE, 'GET', '/api/sales/123'),
    () => call(RUDE, 'GET', '/api/orders', bearer),
    () => call(RUDE, 'POST', '/api/session'),
    () => call(RUDE, 'POST', `/api/sales/123/items/123/orders`),
    () => call(RUDE, 'POST', `/api/orders/123/payment`, bearer),
    () => call(RUDE, 'GET', '/api/live', { ...UPGRADE, authorization: 'Bearer made-up' }),
  ]
  const first = await Promise.all(calls.map(async ask => (await ask()).status))
  expect(first).not.toContain(429)
  for (let n = first.length; n < 12; n++) expect((await calls[0]!()).status).toBe(200)
  for (const ask of calls) {
    const { status, headers, text } = await ask()
    expect({ status, code: JSON.parse(text).code }).toEqual({ status: 429, code: 'rate_limited' })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    expect(headers.get('ratelimit-policy')).toBe('"per-address";q=12;w=3600')
  }
  // Operators, health checks and providers have doors of their own.
  const operator = { authorization: `Bearer ${ADMIN_TOKEN}` }
  expect((await call(RUDE, 'GET', '/api/admin/sales', operator)).status).toBe(200)
  expect((await call(RUDE, 'GET', '/livez')).status).toBe(200)
  expect((await call(RUDE, 'POST', '/api/payments/sandbox/callback')).status).toBe(401)
  expect((await call(POLITE, 'GET', '/api/orders', bearer)).status).toBe(200)
  // Who has an order gets it, whatever else is true.
  const again = { authorization: `Bearer ${ticket.text}` }
  expect((await call(RUDE, 'POST', `/api/sales/${sale.id}/items/${item}/orders`, again)).status).toBe(200)
  expect((await gauges(server))('stampede_sockets_refused_total{reason="rate_limited"}')).toBe(1)
}, 300_000)

test('a buyer who floods from many addresses is refused by name', async () => {
  const { shop, call } = await openShop({ RATE_CALLS_PER_BUYER: '5/1h' })
  const as = async (buyer: string) => ({ authorization: `Bearer ${await shop.buyerToken(buyer)}` })
  const [ann, ben] = [await as('ann'), await as('ben')]
  const statuses: number[] = []
  for (let n = 0; n < 7; n++) statuses.push((await call(`127.0.1.${n + 1}`, 'GET', '/api/orders', ann)).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
  expect((await call('127.0.1.1', 'GET', '/api/orders', ben)).status).toBe(200)
}, 300_000)

test('a buyer who lists again and again is refused, and still gets one order by its id', async () => {
  const { shop, call } = await openShop({ RATE_LISTS_PER_BUYER: '3/1h' })
  const ann = { authorization: `Bearer ${await shop.buyerToken('ann')}` }
  const statuses: number[] = []
  for (let n = 0; n < 5; n++) statuses.push((await call(`127.0.1.${n + 1}`, 'GET', '/api/orders', ann)).status)
  expect(statuses).toEqual([200, 200, 200, 429, 429])
  const { headers, text } = await call(POLITE, 'GET', '/api/orders', ann)
  expect(JSON.parse(text).code).toBe('rate_limited')
  expect(headers.get('ratelimit-policy')).toBe('"per-buyer";q=3;w=3600')
  expect((await call(POLITE, 'GET', '/api/orders/123', ann)).status).toBe(404)
  const ben = { authorization: `Bearer ${await shop.buyerToken('ben')}` }
  expect((await call(POLITE, 'GET', '/api/orders', ben)).status).toBe(200)
}, 300_000)

test('one address can’t take every live connection', async () => {
  const { server, shop, open } = await openShop({ SOCKETS_PER_ADDRESS: '3' })
  const connect = async (from: string, buyer: string) => {
    const socket = await open(from)
    const bearer = { authorization: `Bearer ${await shop.buyerToken(buyer)}` }
    const answer = await socket.ask('GET', '/api/live', { ...UPGRADE, ...bearer })
    return { socket, status: answer?.status }
  }
  const sockets = []
  for (const buyer of ['ann', 'ben', 'cat']) sockets.push(await connect(RUDE, buyer))
  expect(sockets.map(({ status }) => status)).toEqual([101, 101, 101])
  expect((await connect(RUDE, 'dan')).status).toBe(503)
  expect((await connect(POLITE, 'dan')).status).toBe(101)
  sockets[0]!.socket.hangUp()
  await until('its place is free', async () => (await connect(RUDE, 'eve')).status === 101)
  expect((await gauges(server))('stampede_sockets_refused_total{reason="full_address"}')).toBeGreaterThan(0)
}, 300_000)
