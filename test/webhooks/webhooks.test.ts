import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale } from '../harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { answer, hang, openReceiver, type WebhookReceiver } from '../harness/webhook-receiver.ts'
import { firstOnes, verified, WebhookDesk } from './webhook-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let server: Stampede
let shop: Shop
let desk: WebhookDesk
let sale: ShopSale
let buyers = 0
/** How many events the orders have made so far. */
let eventsMade = 0

const ENV = { WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8', WEBHOOK_TIMEOUT_MS: '3000' }

beforeAll(async () => {
  server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: ENV })
  shop = new Shop(() => server.url())
  desk = new WebhookDesk(() => server.url())
  sale = await shop.openSale(-1_000, [{ units: 1_000 }])
  // The sale's own event is out of the way: no webhook gets what was before it.
  await until('the sale has opened', async () => (await newestEvent()) > 0)
})
afterAll(() => playground.undo())

async function newestEvent(): Promise<number> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const { next } = (await (await fetch(`${server.url()}/api/admin/events?after=newest`, { headers })).json()) as {
    next: string
  }
  return Number(next)
}

/** It gets nothing of what was before it: numbers are given a moment after the commit. */
async function create(wish: Parameters<WebhookDesk['create']>[0]) {
  await until('all events have their numbers', async () => (await newestEvent()) >= eventsMade + 1)
  return desk.create(wish)
}

/** One more order; its id. */
async function order(): Promise<string> {
  buyers += 1
  const told = await shop.order(await shop.ticket(`buyer-${buyers}`, sale.id, sale.items[0]!.id), 1)
  if (told.answer.kind !== 'placed') throw new Error(`not placed: ${told.answer.kind}`)
  eventsMade += 1
  return told.answer.order.id
}

/** An order that was placed and cancelled: two events. */
async function orderAndCancel(): Promise<string> {
  const id = await order()
  await shop.cancel(id)
  eventsMade += 1
  return id
}

const typesOf = (receiver: WebhookReceiver, secret: string, subject: string) =>
  receiver.received
    .map(one => verified(secret, one))
    .filter(one => one.subject === subject)
    .map(one => one.type)

const BOTH = ['stampede.order.placed', 'stampede.order.closed']

test('sends what happens, signed as Standard Webhooks has it, in order per order, and only what is wanted', async () => {
  const all = await openReceiver(playground, answer(200, 'thanks'))
  const some = await openReceiver(playground, answer(204))
  const { secret, id } = await create({ url: all.url('/hook?shop=1'), about: 'all of it' })
  const closed = await create({ url: some.url(), types: ['stampede.order.closed'] })
  const orders = await Promise.all(Array.from({ length: 12 }, orderAndCancel))
  const ofOrders = () => all.received.filter(one => one.body.includes('stampede.order.'))
  await until('all are there', () => ofOrders().length >= 24 && some.received.length >= 12)
  const messages = firstOnes(all.received.map(one => verified(secret, one)))
  for (const one of orders)
    expect(messages.filter(({ subject }) => subject === one).map(({ type }) => type)).toEqual(BOTH)
  expect(some.received.every(one => verified(closed.secret, one).type === 'stampede.order.closed')).toBe(true)
  expect(all.received[0]).toMatchObject({ path: '/hook?shop=1' })
  expect(all.received[0]?.headers['content-type']).toBe('application/cloudevents+json')

  await until('the deliveries are written down', async () => (await desk.find(id)).waiting === 0)
  const deliveries = await desk.deliveries(id, 'state=delivered')
  expect(deliveries.filter(one => orders.includes(one.subject))).toHaveLength(24)
  expect(deliveries[0]).toMatchObject({ state: 'delivered', tries: 1, status: 200, answer: 'thanks' })
  const page = await desk.page(id, 'limit=10')
  const next = await desk.page(id, `limit=20&after=${page.next}`)
  expect([...page.deliveries, ...next.deliveries].map(one => one.event)).toEqual(deliveries.map(one => one.event))
  expect(next.next).toBeNull()

  // A second one, by hand.
  const again = deliveries[0]!.event
  const before = all.received.length
  expect((await desk.resend(id, again)).state).toBe('waiting')
  await until('it is sent again', () => all.received.length === before + 1)
  expect(verified(secret, all.received.at(-1)!).id).toBe(again)
  await Promise.all([desk.delete(id), desk.delete(closed.id)])
})

test('shows a secret once and never again, and signs with the old and the new one while both are valid', async () => {
  const receiver = await openReceiver(playground, answer(200))
  const made = await create({ url: receiver.url(), types: ['stampede.order.placed'] })
  const turned = await desk.rotate(made.id, 3600)
  expect(turned.secret).not.toBe(made.secret)
  expect(turned.secrets).toBe(2)
  const first = await order()
  await until('it is there', () => receiver.received.length === 1)
  for (const { secret } of [made, turned]) expect(verified(secret, receiver.received[0]!).subject).toBe(first)
  expect((await desk.test(made.id)).delivered).toBe(true)
  for (const { secret } of [made, turned])
    expect(verified(secret, receiver.received[1]!).type).toBe('stampede.webhook.test')

  const last = await desk.rotate(made.id, 0)
  expect(last.secrets).toBe(1)
  const seen = receiver.received.length
  await until('the sender has the new one', async () => {
    await desk.test(made.id)
    const header = String(receiver.received.at(-1)?.headers['webhook-signature'])
    return header.split(' ').length === 1
  })
  await order()
  await until('it is there', () => receiver.received.slice(seen).some(one => one.body.includes('order.placed')))
  const told = receiver.received.findLast(one => one.body.includes('order.placed'))!
  verified(last.secret, told)
  expect(() => verified(made.secret, told)).toThrow()

  const log = await (
    await fetch(`${server.url()}/api/admin/log`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })
  ).text()
  const shown = [log, JSON.stringify([await desk.list(), await desk.find(made.id)]), server.output()].join()
  expect(shown).not.toContain('whsec_')
  expect(log).toContain('webhook.rotate')
  await desk.delete(made.id)
  expect((await desk.ask('GET', `/${made.id}`)).status).toBe(404)
})

describe('a receiver that', () => {
  test('answers 500, hangs or redirects to loopback is tried again, keeps its order, and delays no other', async () => {
    let failures = 3
    const shaky = await openReceiver(playground, (one, response) => {
      failures -= 1
      answer(failures >= 0 ? 500 : 200, failures >= 0 ? 'no database' : '')(one, response)
    })
    const silent = await openReceiver(playground, hang)
    const inner = await openReceiver(playground, answer(200))
    const leading = await openReceiver(playground, answer(302, '', { location: inner.url() }))
    const good = await openReceiver(playground, answer(200))
    const [bad, mute, led, fine] = await Promise.all(
      [shaky, silent, leading, good].map(receiver => create({ url: receiver.url() })),
    )
    const id = await orderAndCancel()
    await until('the good one has both', () => good.received.length >= 2)
    expect(typesOf(good, fine!.secret, id)).toEqual(BOTH)
    // The first has to arrive before the second is tried.
    await until('the shaky one has both in the end', async () => (await desk.find(bad!.id)).waiting === 0)
    expect(typesOf(shaky, bad!.secret, id)).toEqual([...Array(4).fill(BOTH[0]), BOTH[1]])
    const [failing] = await desk.deliveries(mute!.id, 'state=waiting&limit=500').then(all => all.toReversed())
    expect(failing).toMatchObject({ state: 'waiting', problem: 'timeout' })
    expect(failing?.nextTryAt).toBeString()
    expect(typesOf(silent, mute!.secret, id)).not.toContain(BOTH[1])
    expect(await desk.deliveries(led!.id)).toContainEqual(
      expect.objectContaining({ state: 'waiting', status: 302, problem: 'redirect' }),
    )
    expect((await desk.find(led!.id)).failingSince).toBeString()
    expect(inner.received).toEqual([])
    await Promise.all([bad, mute, led, fine].map(one => desk.delete(one!.id)))
  })

  test('answers 410 is sent nothing any more, until an operator turns it on again', async () => {
    const receiver = await openReceiver(playground, answer(410, 'gone'))
    const { id, secret } = await create({ url: receiver.url() })
    const first = await orderAndCancel()
    await until('it is disabled', async () => (await desk.find(id)).state === 'gone')
    const second = await orderAndCancel()
    const good = await openReceiver(playground, answer(200))
    const other = await create({ url: good.url() })
    await orderAndCancel()
    await until('another one is served', () => good.received.length >= 2)
    expect(receiver.received).toHaveLength(1)
    receiver.answering = answer(200)
    await desk.change(id, { state: 'active' })
    await until('it gets all it has missed', () => receiver.received.length >= 7)
    firstOnes(receiver.received.map(one => verified(secret, one)))
    for (const one of [first, second]) expect(typesOf(receiver, secret, one).slice(-2)).toEqual(BOTH)
    await Promise.all([desk.delete(id), desk.delete(other.id)])
  })

  test('dies and comes back gets what it has missed, in order', async () => {
    const receiver = await openReceiver(playground, answer(200))
    const { id, secret } = await create({ url: receiver.url() })
    await receiver.die()
    const orders = await Promise.all(Array.from({ length: 15 }, orderAndCancel))
    await until('it is known to be away', async () => (await desk.find(id)).failingSince !== undefined)
    await receiver.live()
    await until('all are there', () => receiver.received.length >= 30)
    const messages = firstOnes(receiver.received.map(one => verified(secret, one)))
    for (const one of orders)
      expect(messages.filter(({ subject }) => subject === one).map(({ type }) => type)).toEqual(BOTH)
    await until('it is no longer failing', async () => (await desk.find(id)).failingSince === undefined)
    await desk.delete(id)
  })

  test('is turned off gets nothing, and goes on where it stopped', async () => {
    const receiver = await openReceiver(playground, answer(200))
    const { id, secret } = await create({ url: receiver.url(), about: 'parcels' })
    const first = await order()
    await until('it is there', () => receiver.received.length === 1)
    await desk.change(id, { state: 'off', about: '' })
    await until('it is off', async () => (await desk.find(id)).state === 'off')
    const tested = await desk.test(id)
    expect(tested).toMatchObject({ delivered: true, status: 200 })
    const second = await order()
    await desk.change(id, { state: 'active', types: ['stampede.order.placed'] })
    await until('the second is there', () => typesOf(receiver, secret, second).length === 1)
    expect(typesOf(receiver, secret, first)).toEqual([BOTH[0]!])
    await desk.delete(id)
  })
})

test('refuses addresses that are not public, not https, or no addresses', async () => {
  for (const url of ['https://10.0.0.1/', 'https://[::1]/', 'http://8.8.8.8/', 'https://a:b@shop.example/', 'x'])
    expect(await desk.ask('POST', '', { url })).toMatchObject({
      status: 422,
      body: { code: 'url_not_allowed', field: 'url' },
    })
  expect((await desk.ask('POST', '', { url: 'https://shop.example/', types: ['order.paid'] })).status).toBe(400)
  const named = await create({ url: 'https://localhost.stampede.invalid/' })
  expect(await desk.test(named.id)).toMatchObject({ delivered: false, problem: 'name' })
  await desk.delete(named.id)
  expect((await desk.ask('POST', '/4711/test')).status).toBe(404)
  expect((await desk.ask('POST', '/4711/deliveries/1/retry')).status).toBe(404)
})

test('there are at most 32 webhooks', async () => {
  const made = await Promise.all(
    Array.from({ length: 40 }, (_, i) => desk.ask('POST', '', { url: `https://shop-${i}.example/`, types: [] })),
  )
  const full = made.filter(({ status }) => status === 409)
  expect(full.length).toBeGreaterThan(0)
  const ids = made.filter(({ status }) => status === 201).map(({ body }) => String(body.id))
  expect((await desk.list()).length).toBeLessThanOrEqual(40)
  expect((await desk.ask('POST', '', { url: 'https://shop.example/' })).status).toBe(409)
  await Promise.all(ids.map(id => desk.delete(id)))
})
