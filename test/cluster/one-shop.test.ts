import { afterEach, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { persist } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type WireOrder } from '../harness/shop.ts'
import { BUYER_JWT_SECRET } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const NOT_AWAY = () => Promise.reject(new Error('an edge is away'))

const COPY_MS_MAX = 1_000

const playground = new Playground()
afterEach(() => playground.undo())

function tokenOf(buyer: string): Promise<string> {
  const key = new TextEncoder().encode(BUYER_JWT_SECRET)
  return new SignJWT({ sub: buyer }).setProtectedHeader({ alg: 'HS256' }).setExpirationTime('1h').sign(key)
}

/** What a buyer's socket at one edge has heard. */
async function listen(url: string, buyer: string) {
  const headers = { authorization: `Bearer ${await tokenOf(buyer)}` }
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/api/live`, { headers } as never)
  playground.onUndo(() => socket.close())
  const heard: { type: string; order?: WireOrder; left?: number }[] = []
  socket.onmessage = event => void heard.push(JSON.parse(String(event.data)))
  await until('an open socket', () => socket.readyState === WebSocket.OPEN)
  return heard
}

test('several edges are one shop: ordered at one, watched at another, paid at a third, cancelled anywhere', async () => {
  const cluster = await Cluster.start(playground, {
    edges: 3,
    workers: 1,
    keepers: 1,
    env: { PAYMENT_PROVIDERS: 'sandbox' },
  })
  const [one = '', two = '', three = ''] = cluster.edges().map(edge => edge.server().url())
  const shop = new Shop(() => one)
  const sale = await shop.openSale(-1_000, [{ units: 3 }])
  const item = sale.items[0]?.id ?? ''
  const heard = await listen(two, 'ann')
  const call = async (method: string, url: string, buyer: string, body?: unknown) => {
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${await tokenOf(buyer)}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> & Partial<WireOrder> }
  }

  const told = await persist(shop, await shop.ticket('ann', sale.id, item), 1, NOT_AWAY)
  if (!('order' in told.answer)) throw new Error(`ann was told ${told.answer.kind}`)
  const { id } = told.answer.order
  // Readable at once, wherever she looks.
  for (const url of [one, two, three]) {
    // An edge whose look at the gate is too old to tell says so, on a machine that stands still, and is asked again.
    const read = (buyer: string) =>
      until('an edge that can tell', async () => {
        const answer = await call('GET', `${url}/api/orders/${id}`, buyer)
        return answer.status === 503 ? undefined : answer
      })
    const found = await read('ann')
    expect({ status: found.status, id: found.body.id }).toEqual({ status: 200, id })
    expect((await read('ben')).status).toBe(404)
  }
  await until('the order on her socket', () => heard.some(({ order }) => order?.id === id && order.state === 'pending'))
  await until('the stock on her socket', () => heard.some(({ left }) => left === 2))

  // Paid at the third edge, on a page that the second serves.
  const started = await call('POST', `${three}/api/orders/${id}/payment`, 'ann', {})
  expect(started.status).toBe(201)
  const page = new URL(String(started.body.payUrl)).pathname
  expect((await fetch(`${two}${page}/approve`, { method: 'POST' })).ok).toBe(true)
  await until('paid, on her socket', () => heard.some(({ order }) => order?.id === id && order.state === 'paid'))
  // The others hear of it at about the same time; no copy of an order is older than a second.
  for (const url of [one, two, three])
    await until(
      'paid, at every edge',
      async () => (await call('GET', `${url}/api/orders/${id}`, 'ann')).body.state === 'paid',
      5 * COPY_MS_MAX,
    )

  // Asked again at every edge with the same ticket, sold out or not: the same order.
  const ticket = await shop.ticket('ben', sale.id, item)
  const bens = await persist(shop, ticket, 1, NOT_AWAY)
  const again = await Promise.all([one, two, three].map(url => persist(new Shop(() => url), ticket, 1, NOT_AWAY)))
  const ids = [bens, ...again].map(({ answer }) => ('order' in answer ? answer.order.id : answer.kind))
  expect(new Set(ids).size).toBe(1)
  // What is only reserved can't be cancelled yet.
  const stateAt = async (url: string) => (await call('GET', `${url}/api/orders/${ids[0]}`, 'ben')).body.state
  await until('his order is placed', async () => (await stateAt(three)) === 'pending')
  const cancelled = await call('POST', `${three}/api/orders/${ids[0]}/cancel`, 'ben')
  expect(cancelled.body).toMatchObject({ state: 'closed', reason: 'cancelled' })
  const backMs = systemClock.elapsed()
  await until('the unit is back on every edge', async () => {
    const sales = await Promise.all([one, two, three].map(url => fetch(`${url}/api/sales/${sale.id}`)))
    const lefts = await Promise.all(
      sales.map(async response => ((await response.json()) as { items: { left: number }[] }).items[0]?.left),
    )
    return lefts.every(left => left === 2)
  })
  console.log(`  back on sale on three edges after ${Math.round(systemClock.elapsed() - backMs)} ms (promised: 2,000)`)
}, 300_000)
