/** The waiting line of one process, over HTTP: numbers, who is let in, tickets, missed turns, sold out, and what operators may do. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock, toRfc3339 } from '../../src/base/clock.ts'
import { LineShop } from '../harness/line-shop.ts'
import { Playground } from '../harness/playground.ts'
import { Site } from '../harness/site.ts'
import { until } from '../harness/until.ts'

setDefaultTimeout(180_000)

const playground = new Playground()
let shop: LineShop
beforeAll(async () => {
  const site = await Site.start(playground, {
    dataDir: playground.dataDir(),
    env: { RATE_PER_BUYER: 'off', RATE_PER_ADDRESS: 'off', CALLS_PER_ADDRESS: 'off', CALLS_PER_BUYER: 'off' },
  })
  shop = new LineShop(() => site.url())
})
afterAll(() => playground.undo())

const LATER = { opensInMs: 600_000 }

test('numbers are given in order, once per buyer; those who leave are not ahead of the others, and come back at the end', async () => {
  const sale = await shop.openSale(LATER)
  expect((await shop.ask('GET', sale, 'ann')).code).toBe('not_in_line')
  const first = await shop.ask('POST', sale, 'ann')
  expect(first).toMatchObject({
    status: 201,
    body: { number: 1, state: 'waiting', place: 1, ahead: 0, estimate: null },
  })
  expect(await shop.ask('POST', sale, 'ann')).toEqual({ ...first, status: 200 })
  expect((await shop.ask('GET', sale, 'ann')).body).toEqual(first.body)
  for (const buyer of ['bob', 'cid', 'dora']) await shop.join(sale, buyer)
  expect(await shop.where(sale, 'dora')).toMatchObject({ number: 4, place: 4, ahead: 3 })
  expect((await shop.leave(sale, 'bob')).status).toBe(204)
  expect((await shop.leave(sale, 'bob')).status).toBe(204)
  expect((await shop.ask('GET', sale, 'bob')).code).toBe('not_in_line')
  expect(await shop.where(sale, 'dora')).toMatchObject({ number: 4, place: 4, ahead: 2 })
  expect(await shop.join(sale, 'bob')).toMatchObject({ number: 5, place: 5, ahead: 3 })
  const shown = (await shop.till.operator('GET', `/sales/${sale.id}`)) as { line?: unknown }
  expect(shown.line).toMatchObject({ order: 'arrival', state: 'joining', joined: 4, rate: 'auto' })
})

test('many who join at once, and again, get one number each, without gaps', async () => {
  const sale = await shop.openSale(LATER)
  const buyers = Array.from({ length: 300 }, (_, i) => `crowd-${i}`)
  const joins = await Promise.all([...buyers, ...buyers, ...buyers].map(buyer => shop.join(sale, buyer)))
  const numbers = new Map<string, Set<number>>()
  for (const [i, { number }] of joins.entries()) {
    const buyer = buyers[i % buyers.length]!
    numbers.set(buyer, (numbers.get(buyer) ?? new Set()).add(number))
  }
  expect([...numbers.values()].every(given => given.size === 1)).toBe(true)
  const all = [...numbers.values()].map(given => [...given][0]!).sort((a, b) => a - b)
  expect(all).toEqual(buyers.map((_, i) => i + 1))
})

test('a line has its time: nobody joins before it opens, without one, or after the end; wrong lines are refused', async () => {
  const early = await shop.openSale({ ...LATER, lineOpensInMs: 300_000 })
  expect(await shop.ask('POST', early, 'ann')).toMatchObject({ status: 409, code: 'sale_not_open' })
  expect((await shop.ask('GET', early, 'ann')).code).toBe('not_in_line')
  const plain = await shop.openSale({ more: { line: undefined } })
  expect(await shop.ask('POST', plain, 'ann')).toMatchObject({ status: 404, code: 'not_found' })
  expect((await shop.ticket(plain, 'ann')).status).toBe(201)
  const over = await shop.openSale()
  await shop.join(over, 'ann')
  await shop.till.operator('POST', `/sales/${over.id}/end`)
  await until('the end is seen', async () => (await shop.ask('POST', over, 'bob')).code === 'sale_over')
  const wrong = [
    { opensAt: '2199-01-01T00:00:00Z', order: 'arrival' },
    { opensAt: '2026-01-01T00:00:00Z', order: 'arrival', sealsAt: '2026-01-01T00:00:00Z' },
    { opensAt: '2026-01-01T00:00:00Z', order: 'arrival', rate: 0 },
    { opensAt: '2026-01-01T00:00:00Z', order: 'arrival', claimWithinSeconds: 0 },
    { opensAt: '2026-01-01T00:00:00Z', order: 'by height' },
    { order: 'arrival' },
  ]
  for (const line of wrong) {
    const refused = await shop.till.admin('POST', '/sales', {
      name: 'Wrong',
      opensAt: '2198-01-01T00:00:00Z',
      closesAt: '2198-01-02T00:00:00Z',
      line,
      items: [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 5 }],
    })
    expect([refused.status, refused.code, String(refused.body.field)]).toEqual([
      400,
      'body_invalid',
      expect.stringMatching(/^line\./),
    ])
  }
})

test('a ticket is for those who are let in, ends with their time to claim, and holders of an order always get theirs', async () => {
  const sale = await shop.openSale({ units: 2, line: { claimWithinSeconds: 60 } })
  expect(await shop.ticket(sale, 'zoe')).toMatchObject({
    status: 403,
    code: 'not_admitted',
    body: { place: null, ahead: null },
  })
  for (const buyer of ['ann', 'bob', 'cid']) await shop.join(sale, buyer)
  const admitted = await shop.isIn(sale, 'ann', 'admitted')
  await shop.isIn(sale, 'bob', 'admitted')
  // Two units, two inside: the third waits until one of them is late.
  expect(await shop.ticket(sale, 'cid')).toMatchObject({
    status: 403,
    code: 'not_admitted',
    body: { place: 3, ahead: 0 },
  })
  const ticket = await shop.ticket(sale, 'ann')
  expect(ticket).toMatchObject({ status: 201, body: { expiresAt: admitted.claimBy } })
  await shop.order(sale, 'ann')
  await shop.order(sale, 'bob')
  expect(await shop.where(sale, 'ann')).toMatchObject({ number: 1, state: 'done', left: 0 })
  expect(await shop.join(sale, 'ann')).toMatchObject({ number: 1, state: 'done' })
  expect(await shop.ticket(sale, 'ann')).toMatchObject({ status: 201, body: { attempt: 1 } })
  // Sold out: the line waits, and says so.
  expect(await shop.where(sale, 'cid')).toMatchObject({ state: 'waiting', left: 0, estimate: null })
  const [order] = await shop.till.ownOrders({ buyer: 'ann' } as never)
  await shop.till.cancel(order!)
  await shop.isIn(sale, 'cid', 'admitted')
  await shop.order(sale, 'cid')
})

test('who does not come in time is skipped, and may come back at the end with a new number', async () => {
  const sale = await shop.openSale({ units: 1, line: { claimWithinSeconds: 1 } })
  for (const buyer of ['ann', 'bob']) await shop.join(sale, buyer)
  await shop.isIn(sale, 'ann', 'missed')
  expect((await shop.ticket(sale, 'ann')).code).toBe('not_admitted')
  await shop.isIn(sale, 'bob', 'missed')
  const again = await shop.ask('POST', sale, 'ann')
  expect([again.status, again.body.number]).toEqual([200, 3])
  await shop.isIn(sale, 'ann', 'admitted')
})

test('a ticket of a missed turn buys nothing', async () => {
  const sale = await shop.openSale({ units: 1, line: { claimWithinSeconds: 2 } })
  await shop.join(sale, 'ann')
  await shop.isIn(sale, 'ann', 'admitted')
  const { body } = await shop.ticket(sale, 'ann')
  await shop.isIn(sale, 'ann', 'missed')
  expect((await shop.orderBy(sale, String(body.ticket))).code).toBe('ticket_invalid')
})

test('operators set the rate, pause and resume; people are let in at that rate, in order', async () => {
  const sale = await shop.openSale({ units: 1000, line: { rate: 0.1 } })
  await shop.steer(sale, 'pause')
  const buyers = Array.from({ length: 60 }, (_, i) => `steered-${i}`)
  for (const buyer of buyers) await shop.join(sale, buyer)
  const stillMs = systemClock.elapsed() + 1_500
  await until('a while has passed', () => systemClock.elapsed() > stillMs)
  expect((await shop.where(sale, buyers[0]!)).state).toBe('waiting')
  expect(await shop.steer(sale, 'rate', { rate: 20 })).toMatchObject({ line: { rate: 20, paused: true } })
  const fromMs = systemClock.elapsed()
  await shop.steer(sale, 'resume')
  await shop.isIn(sale, buyers[0]!, 'admitted')
  expect((await shop.where(sale, buyers.at(-1)!)).state).toBe('waiting')
  await shop.isIn(sale, buyers.at(-1)!, 'admitted')
  const tookMs = systemClock.elapsed() - fromMs
  expect(tookMs).toBeGreaterThan(2_500)
  const { log } = (await shop.till.operator('GET', '/log?limit=1000')) as unknown as {
    log: { action: string; sale?: string }[]
  }
  const actions = log.filter(one => one.sale === sale.id).map(one => one.action)
  expect(actions.slice(-3)).toEqual(['line.pause', 'line.rate', 'line.resume'])
})

test('a unit that comes back is for the next in line: neither the buyer who did not pay nor one who polls gets it', async () => {
  const items = [{ name: 'Kettle', price: { amount: 100, currency: 'CNY' }, units: 1, payWithinSeconds: 2 }]
  const sale = await shop.openSale({ line: { claimWithinSeconds: 600 }, more: { items } })
  for (const buyer of ['ann', 'bob']) await shop.join(sale, buyer)
  await shop.isIn(sale, 'ann', 'admitted')
  await shop.order(sale, 'ann')
  const polls = { ann: 0, zoe: 0 }
  const bought: string[] = []
  let bobIsIn = false
  let isOver = false
  const poll = async (buyer: keyof typeof polls) => {
    while (!isOver) {
      const counts = bobIsIn
      const { body } = await shop.ticket(sale, buyer)
      if (body.ticket !== undefined) {
        const { status } = await shop.orderBy(sale, String(body.ticket))
        if (status === 201) bought.push(buyer)
      }
      if (counts) polls[buyer] += 1
    }
  }
  const polling = Promise.all([poll('ann'), poll('zoe')])
  try {
    // The slow one: the others ask all the time, also when the unit is there and he has not pressed yet.
    await shop.isIn(sale, 'bob', 'admitted')
    bobIsIn = true
    await until('the others have asked again and again', () => polls.ann >= 10 && polls.zoe >= 10)
    expect({ bought, left: (await shop.where(sale, 'bob')).left }).toEqual({ bought: [], left: 1 })
    await shop.order(sale, 'bob')
  } finally {
    isOver = true
    await polling
  }
  expect(bought).toEqual([])
  // The turn is over with the order; there is a new one at the end.
  expect((await shop.where(sale, 'ann')).state).toBe('missed')
  expect(await shop.join(sale, 'ann')).toMatchObject({ number: 3, state: 'waiting' })
})

test('what a line asks of those who join is fixed once it is published', async () => {
  const opensAt = toRfc3339(systemClock.now() - 60_000)
  const sale = await shop.openSale({ ...LATER, line: { opensAt, claim: 'phone' } })
  const drop = await shop.till.admin('PATCH', `/sales/${sale.id}`, { line: { opensAt, order: 'arrival' } })
  expect(drop).toMatchObject({ status: 409, code: 'not_changeable', body: { field: 'line' } })
  expect(await shop.ask('POST', sale, 'ann')).toMatchObject({ status: 403, code: 'claim_required' })
})
