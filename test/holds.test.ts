/** Units that are held without paying, over HTTP: who is refused, what goes on counting, what a restart keeps, and the attack that it ends. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { systemClock, toRfc3339 } from '../src/base/clock.ts'
import type { OrderAnswer } from '../src/wire/answers.ts'
import type { CancelledHoldsAnswer, HoldsAnswer } from '../src/wire/holds/hold-shapes.ts'
import { gauge } from './harness/gauges.ts'
import { payUrlOf, Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { Site } from './harness/site.ts'
import { BUYER_JWT_SECRET } from './harness/stampede.ts'
import { until } from './harness/until.ts'

const SOON_MS = 60_000
const PAY_S = 5

const playground = new Playground()
let site: Site
let till: Till
beforeAll(async () => {
  const env = {
    TRUSTED_PROXIES: '127.0.0.1,::1',
    RATE_PER_BUYER: 'off',
    RATE_PER_ADDRESS: 'off',
    PAYMENT_PROVIDERS: 'sandbox',
  }
  site = await Site.start(playground, { dataDir: playground.dataDir(), env })
  till = new Till(() => site.url())
})
afterAll(() => playground.undo())

async function openSale(holds: unknown, units = 50, item: Readonly<Record<string, unknown>> = {}) {
  const opensAtMs = systemClock.now() - 1_000
  const kettle = {
    name: 'Kettle',
    price: { amount: 100, currency: 'CNY' },
    units,
    quantityMax: 2,
    attemptsMax: 9,
    ...item,
  }
  const sale = (await till.operator('POST', '/sales', {
    name: 'Friday',
    opensAt: toRfc3339(opensAtMs),
    closesAt: toRfc3339(opensAtMs + 3_600_000),
    items: [kettle],
    ...(holds !== undefined && { holds }),
  })) as unknown as { id: string; items: { id: string }[] }
  await till.operator('POST', `/sales/${sale.id}/publish`)
  return { id: sale.id, item: sale.items[0]!.id, path: `/api/sales/${sale.id}/items/${sale.items[0]!.id}` }
}

const signed = (sub: string, claims: Readonly<Record<string, unknown>> = {}) =>
  new SignJWT({ ...claims, sub })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(Buffer.from(BUYER_JWT_SECRET))

interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>> & { readonly code?: string; readonly id?: string }
}

async function post(path: string, token: string, address: string, body: unknown = {}): Promise<Answer> {
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address }
  const answer = await fetch(site.url() + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return { status: answer.status, body: (await answer.json()) as Answer['body'] }
}

/** A ticket, then an order. The ticket's refusal is the answer where there is none. */
async function buy(path: string, buyer: string, address: string, quantity = 1, claims = {}): Promise<Answer> {
  const ticket = await post(`${path}/ticket`, await signed(buyer, claims), address)
  if (ticket.status !== 201) return ticket
  return post(`${path}/orders`, String(ticket.body.ticket), address, { quantity })
}

const code = ({ status, body }: Answer) => (status < 300 ? status : body.code)
const cancel = async (order: Answer, buyer: string) =>
  post(`/api/orders/${order.body.id}/cancel`, await signed(buyer), '10.9.9.9')

test('thirty guests who never pay keep nothing from honest buyers for longer than two payment times', async () => {
  const sale = await openSale({ perBuyer: 2, perPrefix: 8 }, 50, { payWithinSeconds: PAY_S })
  let ends = false
  let names = 0
  let held = 0
  let refused = 0
  const guest = async (no: number) => {
    // From three networks; a new name whenever the old one is refused.
    const address = () => `203.0.${no % 3}.${1 + (names % 200)}`
    while (!ends) {
      const answer = await buy(sale.path, `guest-${++names}`, address(), 2)
      if (answer.status === 201) held += 2
      else refused += 1
      await systemClock.sleep(100)
    }
  }
  const first = await Promise.all(
    Array.from({ length: 30 }, (_, no) => buy(sale.path, `early-${no}`, `203.0.${no % 3}.9`, 2)),
  )
  const beganMs = systemClock.elapsed()
  held += 2 * first.filter(one => one.status === 201).length
  // Without the limit all 50 would be gone now.
  expect(held).toBe(24)
  expect(new Set(first.filter(one => one.status !== 201).map(code))).toEqual(new Set(['hold_limit']))
  const guests = Array.from({ length: 30 }, (_, no) => guest(no))
  let sold = 0
  const honest = async (no: number) => {
    const answer = () => buy(sale.path, `honest-${no}`, `198.51.${no}.7`)
    let order = await answer()
    while (order.status !== 201) {
      // Sold out for the moment, and never a limit: an honest buyer meets none.
      expect(code(order)).toBe('sold_out')
      await systemClock.sleep(100)
      order = await answer()
    }
    const bought = order.body as unknown as OrderAnswer
    await till.decide(payUrlOf(await till.pay(bought)), 'approve')
    sold += 1
  }
  await Promise.all(Array.from({ length: 50 }, (_, no) => honest(no)))
  const tookMs = systemClock.elapsed() - beganMs
  ends = true
  await Promise.all(guests)
  console.log(
    `  all 50 units at honest buyers after ${Math.round(tookMs)} ms; guests held ${held}, refused ${refused} times`,
  )
  expect(sold).toBe(50)
  expect(tookMs).toBeLessThan(2 * PAY_S * 1_000 + 10_000)
  expect(refused).toBeGreaterThan(30)
  expect(await gauge(site, 'stampede_hold_refusals_total{subject="prefix"}')).toBeGreaterThan(30)
}, 120_000)

test('a buyer over the limit is refused, gets an order that stands again and again, and a payment makes room', async () => {
  const sale = await openSale({ perPrefix: 2, unpaidCountsSeconds: 0 })
  const [ann, bob] = [await buy(sale.path, 'ann', '10.1.0.1'), await buy(sale.path, 'bob', '10.1.0.2')]
  expect([ann.status, bob.status]).toEqual([201, 201])
  expect(code(await buy(sale.path, 'cid', '10.1.0.3'))).toBe('hold_limit')
  // Another network; the same one written as IPv6 has no room either.
  expect(code(await buy(sale.path, 'dan', '10.1.1.3'))).toBe(201)
  expect(code(await buy(sale.path, 'eve', '::ffff:10.1.0.4'))).toBe('hold_limit')
  const again = await buy(sale.path, 'ann', '10.1.0.1')
  expect([again.status, again.body.id]).toEqual([200, ann.body.id])
  await till.decide(payUrlOf(await till.pay(ann.body as unknown as OrderAnswer)), 'approve')
  await until('the payment makes room', async () => (await buy(sale.path, 'cid', '10.1.0.3')).status === 201, SOON_MS)
  expect(code(await buy(sale.path, 'eve', '10.1.0.4'))).toBe('hold_limit')
  await cancel(bob, 'bob')
  await until('the cancel makes room', async () => (await buy(sale.path, 'eve', '10.1.0.4')).status === 201, SOON_MS)
})

test('buyers with the same claim share a limit, and a claim that a token does not have counts for nothing', async () => {
  const sale = await openSale({ perClaim: { phone_hash: 1 } })
  expect(code(await buy(sale.path, 'ann', '10.2.0.1', 1, { phone_hash: 'aa' }))).toBe(201)
  expect(code(await buy(sale.path, 'bob', '10.2.7.1', 1, { phone_hash: 'aa' }))).toBe('hold_limit')
  expect(code(await buy(sale.path, 'bob', '10.2.7.1', 1, { phone_hash: 'bb' }))).toBe(201)
  for (const buyer of ['cid', 'dan']) expect(code(await buy(sale.path, buyer, '10.2.7.1'))).toBe(201)
})

test('after an order that was not paid there is less time to pay, and there are fewer attempts', async () => {
  const sale = await openSale({ perBuyer: 9, payAgainSeconds: 60, attemptsUnpaid: 2 }, 50, { payWithinSeconds: 900 })
  const timeOf = ({ body }: Answer) => Date.parse(String(body.payBy)) - Date.parse(String(body.placedAt))
  const first = await buy(sale.path, 'ann', '10.3.0.1')
  expect(timeOf(first)).toBe(900_000)
  await cancel(first, 'ann')
  const second = await buy(sale.path, 'ann', '10.3.0.1')
  expect([second.status, timeOf(second)]).toEqual([201, 60_000])
  expect((await till.order(String(second.body.id))).payBy).toBe(String(second.body.payBy))
  await cancel(second, 'ann')
  expect(code(await buy(sale.path, 'ann', '10.3.0.1'))).toBe('hold_limit')
  expect(code(await buy(sale.path, 'bob', '10.3.0.1'))).toBe(201)
})

test('limits are switched on in a running sale, and without any nothing is counted', async () => {
  const sale = await openSale(undefined)
  for (const buyer of ['ann', 'bob', 'cid']) expect(code(await buy(sale.path, buyer, '10.4.0.1'))).toBe(201)
  await till.operator('PATCH', `/sales/${sale.id}`, { holds: { perBuyer: 1, perPrefix: 1 } })
  expect(await till.operator('GET', `/sales/${sale.id}`)).toMatchObject({ holds: { perBuyer: 1, perPrefix: 1 } })
  // Where earlier orders came from is not known; whose they are is.
  await until(
    'the limit is in force',
    async () => code(await buy(sale.path, 'dan', '10.4.0.1', 2)) === 'hold_limit',
    SOON_MS,
  )
  expect(code(await buy(sale.path, 'dan', '10.4.0.1', 1))).toBe(201)
  expect(code(await buy(sale.path, 'eve', '10.4.0.1', 1))).toBe('hold_limit')
  await till.operator('PATCH', `/sales/${sale.id}`, { holds: null })
  await until('the limit is off', async () => (await buy(sale.path, 'eve', '10.4.0.1')).status === 201, SOON_MS)
})

test('an operator sees what is held and from where, and cancels chosen orders in one call', async () => {
  const sale = await openSale({ perPrefix: 20, perClaim: { phone: 20 }, unpaidCountsSeconds: 0 }, 20)
  const crowd = Array.from({ length: 8 }, (_, no) => `holder-${no}`)
  for (const [no, buyer] of crowd.entries())
    expect(code(await buy(sale.path, buyer, `10.6.${no % 2}.1`, 1, { phone: no < 6 ? 'x' : 'y' }))).toBe(201)
  const holds = async (query = '') =>
    (await till.operator('GET', `/sales/${sale.id}/holds${query}`)) as unknown as HoldsAnswer
  await until('where they came from is written', async () => (await holds()).groups.length === 4, SOON_MS)
  const { groups } = await holds()
  expect(groups.map(({ subject, quantity }) => [subject, quantity])).toEqual([
    ['claim', 6],
    ['network', 4],
    ['network', 4],
    ['claim', 2],
  ])
  const claim = groups[0]!.value
  expect(claim).toMatch(/^phone-[0-9a-f]{16}$/)
  const first = await holds(`?claim=${claim}&limit=4`)
  expect(first.holds.map(one => one.buyer)).toEqual(crowd.slice(0, 4))
  expect(first.holds[0]).toMatchObject({ network: '10.6.0.0/24', claims: [claim], quantity: 1 })
  expect((await holds(`?claim=${claim}&after=${first.next}`)).holds.map(one => one.buyer)).toEqual(crowd.slice(4, 6))
  expect((await holds('?network=10.6.1.0%2F24')).holds.length).toBe(4)
  expect((await holds('?buyer=holder-7')).holds.length).toBe(1)

  const [paid, ...chosen] = first.holds.map(one => one.id)
  await till.decide(payUrlOf(await till.pay(first.holds[0] as unknown as OrderAnswer)), 'approve')
  const body = { orders: [paid, ...chosen, '7'], reason: 'guests of one network' }
  const answer = await till.operator('POST', '/holds/cancel', body)
  expect(answer).toEqual({
    cancelled: expect.arrayContaining(chosen),
    kept: expect.arrayContaining([
      { order: paid, why: 'paid' },
      { order: '7', why: 'missing' },
    ]),
  })
  const again = (await till.operator('POST', '/holds/cancel', body)) as unknown as CancelledHoldsAnswer
  expect(again.cancelled).toEqual([])
  expect(again.kept.filter(({ why }) => why === 'closed').length).toBe(3)
  const left = async () => {
    const audit = (await till.operator('GET', `/sales/${sale.id}/audit`)) as { items: { gate: { left: number } }[] }
    return audit.items[0]!.gate.left
  }
  await until('the units are back', async () => (await left()) === 15, SOON_MS)
  const log = (await till.operator('GET', '/log?limit=1000')) as {
    log: { order?: string; details?: unknown }[]
  }
  const lines = log.log.filter(({ order }) => order !== undefined && chosen.includes(order))
  expect(lines.map(({ details }) => details)).toEqual(chosen.map(() => ({ reason: 'guests of one network' })))
  for (const orders of [[], ['x'], ['1', '1'], Array.from({ length: 501 }, (_, i) => String(i + 1))])
    expect((await till.admin('POST', '/holds/cancel', { orders })).status).toBe(400)
})

test('a server that is killed counts the same buyers and networks when it is back', async () => {
  const sale = await openSale({ perBuyer: 2, perPrefix: 3 })
  for (const buyer of ['ann', 'bob', 'cid']) expect(code(await buy(sale.path, buyer, '10.5.0.1'))).toBe(201)
  const cid = await buy(sale.path, 'cid', '10.5.0.1')
  await cancel(cid, 'cid')
  const isWritten = async () => {
    const { groups } = (await till.operator('GET', `/sales/${sale.id}/holds`)) as { groups: { orders: number }[] }
    return groups[0]?.orders === 2
  }
  await until('where the orders came from is written', isWritten, SOON_MS)
  await site.server().kill()
  await site.startAgain('')
  await until('the item is on sale', async () => (await buy(sale.path, 'far', '10.5.9.1')).status < 300, SOON_MS)
  // Two that are open and one that was cancelled.
  expect(code(await buy(sale.path, 'dan', '10.5.0.1'))).toBe('hold_limit')
  expect(code(await buy(sale.path, 'ann', '10.5.0.1'))).toBe(200)
  expect(code(await buy(sale.path, 'dan', '10.5.1.1'))).toBe(201)
}, 180_000)
