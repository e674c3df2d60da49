/** The shop's own judgement before a ticket, over HTTP: a hook that answers, hangs, fails, lies, answers late, and is slow for all at once. */

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import { gauge } from './harness/gauges.ts'
import { Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { Shop } from './harness/shop.ts'
import { Stampede } from './harness/stampede.ts'
import { until } from './harness/until.ts'
import { answer, hang, openReceiver, type WebhookReceiver } from './harness/webhook-receiver.ts'

const TIMEOUT_MS = 2_000
/** The promise is the time limit; a loaded machine has five times as long. */
const NO_LONGER_MS = 5 * TIMEOUT_MS
const KEY = Buffer.alloc(32, 7).toString('base64')
const SOON_MS = 120_000

const playground = new Playground()
let hook: WebhookReceiver
let server: Stampede
let till: Till
let shop: Shop
beforeAll(async () => {
  hook = await openReceiver(playground, answer(200, '{"decision":"allow"}'))
  const env = {
    RISK_URL: hook.url('/risk?shop=1'),
    RISK_SECRET: `whsec_${KEY}`,
    RISK_TIMEOUT_MS: String(TIMEOUT_MS),
    RISK_ALLOW_PRIVATE: '127.0.0.0/8',
    RISK_ON_FAILURE: 'deny',
    RISK_CONCURRENCY: '8',
    RATE_PER_ADDRESS: 'off',
  }
  server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  till = new Till(() => server.url())
  shop = new Shop(() => server.url())
})
afterAll(() => playground.undo())

/** It may rest after the failures of the test before. */
beforeEach(async () => {
  hook.answering = answer(200, '{"decision":"allow"}')
  const { path } = await openSale()
  await until(
    'the hook is asked again',
    async () => {
      const asked = hook.received.length
      await ticket(path, `again-${asked}-${systemClock.now()}`)
      return hook.received.length > asked
    },
    SOON_MS,
  )
  hook.received.length = 0
})

async function openSale(more: Readonly<Record<string, unknown>> = {}) {
  const opensAtMs = systemClock.now() - 1_000
  const sale = (await till.operator('POST', '/sales', {
    name: 'Friday',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 5 }],
    ...more,
  })) as unknown as { id: string; items: { id: string }[] }
  await till.operator('POST', `/sales/${sale.id}/publish`)
  const path = `/api/sales/${sale.id}/items/${sale.items[0]!.id}`
  return { id: sale.id, item: sale.items[0]!.id, path }
}

async function post(path: string, bearer: string) {
  const fromMs = systemClock.elapsed()
  const headers = { authorization: `Bearer ${bearer}` }
  const got = await fetch(server.url() + path, { method: 'POST', headers })
  const body = (await got.json()) as Record<string, unknown>
  return { status: got.status, code: body.code, body, ms: systemClock.elapsed() - fromMs }
}

async function ticket(path: string, buyer: string) {
  return post(`${path}/ticket`, await shop.buyerToken(buyer))
}

test('says whom it is about, signed; deny is 403, allow a ticket; who holds an order is not asked about', async () => {
  const sale = await openSale()
  hook.answering = ({ body }, response) => {
    const { buyer } = JSON.parse(body) as { buyer: string }
    response.end(JSON.stringify({ decision: buyer === 'bad' ? 'deny' : 'allow' }))
  }
  expect(await ticket(sale.path, 'bad')).toMatchObject({ status: 403, code: 'denied' })
  const good = await ticket(sale.path, 'good')
  expect(good.status).toBe(201)
  const [{ headers, body, path }] = hook.received as [(typeof hook.received)[0]]
  expect(path).toBe('/risk?shop=1')
  expect(JSON.parse(body)).toMatchObject({
    sale: sale.id,
    item: sale.item,
    buyer: 'bad',
    attempt: 1,
    address: '127.0.0.1',
    claims: { sub: 'bad' },
  })
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  const signature = createHmac('sha256', Buffer.from(KEY, 'base64')).update(signed).digest('base64')
  expect(headers['webhook-signature']).toBe(`v1,${signature}`)

  // The order call asks no hook, and a buyer with an order gets its ticket again, whatever the hook says by now.
  expect((await post(`${sale.path}/orders`, String(good.body.ticket))).status).toBe(201)
  hook.answering = answer(200, '{"decision":"deny"}')
  expect(await ticket(sale.path, 'good')).toMatchObject({ status: 201, body: { attempt: 1 } })
  expect(hook.received).toHaveLength(2)
})

test('makes the challenge of a sale harder, and is no challenge where the sale has none', async () => {
  hook.answering = answer(200, '{"decision":"challenge","difficulty":64}')
  const costOf = ({ body }: Awaited<ReturnType<typeof ticket>>) =>
    (body.challenge as { parameters: { cost: number; keyPrefix: string } }).parameters
  const hard = await ticket((await openSale({ challenge: 'auto' })).path, 'ann')
  expect(hard).toMatchObject({ status: 403, code: 'challenge_required' })
  expect(costOf(hard)).toMatchObject({ cost: 4_000, keyPrefix: '000' })
  expect((await ticket((await openSale()).path, 'ann')).status).toBe(201)
})

test('hangs, fails, lies, redirects, dies: with RISK_ON_FAILURE=deny no ticket, never later than the limit, and all of it counted', async () => {
  const counted = (outcome: string) => gauge(server, `stampede_risk_asks_total{outcome="${outcome}"}`)
  const all = async () => (await counted('timeout')) + (await counted('failed')) + (await counted('unreadable'))
  const before = await all()
  const { path } = await openSale()
  hook.answering = hang
  const hung = await ticket(path, 'hung')
  expect(hung).toMatchObject({ status: 503, code: 'busy' })
  expect(hung.ms).toBeGreaterThanOrEqual(TIMEOUT_MS - 50)
  expect(hung.ms).toBeLessThan(NO_LONGER_MS)
  hook.answering = answer(500, '{"decision":"allow"}')
  expect((await ticket(path, 'failed')).status).toBe(503)
  hook.answering = answer(200, `{"decision":"allow","why":"${'x'.repeat(2_000)}"}`)
  expect((await ticket(path, 'long')).status).toBe(503)
  hook.answering = answer(302, '', { location: '/elsewhere' })
  expect((await ticket(path, 'redirected')).status).toBe(503)
  // The fifth failure in a row: from now on it rests, and costs no time.
  hook.answering = answer(200, 'surely')
  expect((await ticket(path, 'liar')).status).toBe(503)
  const asked = hook.received.length
  const crowd = await Promise.all(Array.from({ length: 20 }, (_, n) => ticket(path, `resting-${n}`)))
  expect(new Set(crowd.map(({ status }) => status))).toEqual(new Set([503]))
  expect(hook.received.length - asked).toBeLessThanOrEqual(1)
  expect((await all()) - before).toBeGreaterThanOrEqual(5)
  expect(await counted('unreadable')).toBeGreaterThanOrEqual(1)

  const troubles = async () => {
    const { trouble } = (await till.operator('GET', '/trouble')) as unknown as { trouble: { code: string }[] }
    return trouble.map(({ code }) => code)
  }
  // It is asked once after each rest, and still lies.
  await until('the trouble is shown', async () => (await troubles()).includes('risk_silent'), SOON_MS)

  // It comes back, and so do tickets, by themselves.
  hook.answering = answer(200, '{"decision":"allow"}')
  await until('a ticket', async () => (await ticket(path, 'hung')).status === 201, SOON_MS)
  await until('the trouble is over', async () => !(await troubles()).includes('risk_silent'), SOON_MS)
  await hook.die()
  expect((await ticket(path, 'dead')).status).toBe(503)
  await hook.live()
})

test('is slow for all at once: no buyer waits longer than the limit, and a late answer is not believed afterwards', async () => {
  const { path } = await openSale()
  const late: (() => void)[] = []
  hook.answering = (_, response) => void late.push(() => response.end('{"decision":"deny"}'))
  const crowd = await Promise.all(Array.from({ length: 60 }, (_, n) => ticket(path, `slow-${n}`)))
  expect(new Set(crowd.map(({ status }) => status))).toEqual(new Set([503]))
  expect(Math.max(...crowd.map(({ ms }) => ms))).toBeLessThan(NO_LONGER_MS)
  expect(hook.received.length).toBeLessThanOrEqual(60)
  for (const answerNow of late) answerNow()
  hook.answering = answer(200, '{"decision":"allow"}')
  await until('a ticket', async () => (await ticket(path, 'slow-0')).status === 201, SOON_MS)
})

test('RISK_ON_FAILURE=allow gives tickets while the hook is away; an address that is not allowed stops the start', async () => {
  const away = {
    RISK_URL: 'https://risk.invalid/ask',
    RISK_SECRET: `whsec_${KEY}`,
    RISK_TIMEOUT_MS: String(TIMEOUT_MS),
    RATE_PER_ADDRESS: 'off',
  }
  const bad = { ...away, RISK_URL: 'http://127.0.0.1:1/' }
  const refused = Stampede.spawn(playground, { dataDir: playground.dataDir(), env: bad })
  expect((await refused.exited).code).not.toBe(0)
  expect(refused.output()).toContain('RISK_URL: leads to 127.0.0.1 (loopback), which RISK_ALLOW_PRIVATE does not allow')

  const open = await Stampede.start(playground, { dataDir: playground.dataDir(), env: away })
  const theirs = new Shop(() => open.url())
  const sale = await theirs.openSale(-1_000, [{ units: 5 }])
  const headers = { authorization: `Bearer ${await theirs.buyerToken('ann')}` }
  const url = `${open.url()}/api/sales/${sale.id}/items/${sale.items[0]!.id}/ticket`
  expect((await fetch(url, { method: 'POST', headers })).status).toBe(201)
  expect(open.output()).not.toContain(KEY)
})
