/** What the shop hears of a real server, while it sells, dies and comes back. */

import { afterEach, describe, expect, test } from 'bun:test'
import { systemClock } from '../src/base/clock.ts'
import { EVENT_TYPES, schemaOf } from '../src/wire/events/event-schemas.ts'
import { atMost, meanwhile, persist } from './harness/crowd.ts'
import { EventReader } from './harness/event-reader.ts'
import { gatherFacts } from './harness/facts.ts'
import { payUrlOf, Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { Shop } from './harness/shop.ts'
import { Site } from './harness/site.ts'
import { Stampede } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

const playground = new Playground()
afterEach(() => playground.undo())

async function openShop(env: Readonly<Record<string, string>> = {}) {
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  const url = () => server.url()
  return { server, shop: new Shop(url), till: new Till(url), reader: new EventReader(url) }
}

/** An order of one unit that is placed. */
async function buy(shop: Shop, sale: string, item: string, buyer: string) {
  const { answer } = await shop.order(await shop.ticket(buyer, sale, item), 1)
  if (!('order' in answer)) throw new Error(`no order: ${JSON.stringify(answer)}`)
  return answer.order.id
}

test('the life of a sale, from its opening to its results, is told in order, and every event is as its schema says', async () => {
  const { shop, till, reader } = await openShop({ CLOSING_SOON_SECONDS: '5', PUBLIC_URL: 'http://sale.example' })
  const sale = await shop.openSale(-1_000, [
    { units: 2, sku: 'TEA-1', payWithinSeconds: 600 },
    { units: 5, payWithinSeconds: 10 },
  ])
  const [tea, cup] = sale.items.map(item => item.id) as [string, string]
  const paid = await buy(shop, sale.id, tea, 'ann')
  const cancelled = await buy(shop, sale.id, tea, 'ben')
  const slow = await buy(shop, sale.id, cup, 'cyd')
  await till.decide(payUrlOf(await till.pay(await till.order(paid))), 'approve')
  await until('the order is paid', async () => (await till.order(paid)).state === 'paid')
  await till.cancel(await till.order(cancelled))
  expect((await till.refund(paid, false)).status).toBe(200)
  await until('the slow order is closed', async () => (await till.order(slow)).state === 'closed')
  await till.move(sale.id, 'end')
  await until('the results', async () => (await reader.catchUp()).some(({ type }) => type === 'stampede.sale.over'))

  const told = reader.told()
  const of = (id: string) => told.filter(line => line.endsWith(` ${id}`)).map(line => line.split(' ')[0])
  expect(of(paid)).toEqual(['order.placed', 'order.paid', 'order.refunded'])
  expect(of(cancelled)).toEqual(['order.placed', 'order.closed'])
  expect(of(slow)).toEqual(['order.placed', 'order.closing_soon', 'order.closed'])
  expect(of(tea)).toEqual(['item.sold_out', 'item.back'])
  expect(of(sale.id)).toEqual(['sale.opened', 'sale.over'])
  const types = new Set(reader.events.map(({ type }) => type))
  expect(EVENT_TYPES.filter(type => !types.has(`stampede.${type}`))).toEqual([])
  for (const event of reader.events) {
    const type = EVENT_TYPES.find(one => event.type === `stampede.${one}`)!
    expect(schemaOf(type).strict().safeParse(event).error, event.type).toBeUndefined()
    expect(event.source).toBe('http://sale.example')
    // Beyond the buyer's id nothing is known of a person, and nothing may be told.
    expect(JSON.stringify(event)).not.toMatch(/token|address|mail|phone/i)
  }
  const over = reader.events.find(({ type }) => type === 'stampede.sale.over')!
  expect(over.data.results).toMatchObject([
    { item: tea, refundedOrders: 1, cancelledOrders: 1 },
    { item: cup, unpaidOrders: 1 },
  ])
  const first = reader.events.find(({ subject }) => subject === paid)!
  expect(first.data).toMatchObject({ buyer: 'ann', sku: 'TEA-1', state: 'pending', quantity: 1 })
}, 120_000)

describe('the feed', () => {
  test('waits for the next event, and answers when it comes or the time is over', async () => {
    const { shop, reader } = await openShop()
    const sale = await shop.openSale(-1_000, [{ units: 10 }])
    const item = sale.items[0]!.id
    await until('the opening', async () => (await reader.catchUp()).length > 0)
    const { next } = (await reader.ask('after=newest')).body
    expect(next).toBe(reader.events.at(-1)!.id)
    const begunMs = systemClock.elapsed()
    expect((await reader.ask(`after=${next}&wait=1`)).body).toEqual({ events: [], next })
    expect(systemClock.elapsed() - begunMs).toBeGreaterThan(900)
    const waiting = reader.ask(`after=${next}&wait=20&types=stampede.order.closed`)
    const order = await buy(shop, sale.id, item, 'ann')
    const other = reader.ask(`after=${next}&wait=20`)
    expect((await other).body.events.map(({ subject }) => subject)).toEqual([order])
    await shop.cancel(order)
    const { events } = (await waiting).body
    expect(events.map(({ type, subject }) => [type, subject])).toEqual([['stampede.order.closed', order]])
  }, 60_000)

  test('is read in pages; the same cursor again gives the same events; one that leads nowhere has expired', async () => {
    const { shop, reader } = await openShop()
    const sale = await shop.openSale(-1_000, [{ units: 50 }])
    const item = sale.items[0]!.id
    await atMost(
      8,
      Array.from({ length: 20 }, (_, i) => `buyer-${i}`),
      buyer => buy(shop, sale.id, item, buyer),
    )
    await until('all events', async () => (await reader.catchUp(3)).length === 21)
    const ids = reader.events.map(({ id }) => id)
    for (let twice = 0; twice < 2; twice++)
      expect((await reader.ask('after=4&limit=6')).body.events.map(({ id }) => id)).toEqual(ids.slice(4, 10))
    expect((await reader.ask('limit=2')).body).toMatchObject({ next: '2' })
    expect(await reader.ask('after=100')).toMatchObject({ status: 410, body: { code: 'cursor_expired', oldest: '0' } })
    for (const wrong of ['after=x', 'after=-1', 'types=order.placed', 'limit=0', 'wait=soon'])
      expect([wrong, (await reader.ask(wrong)).status]).toEqual([wrong, 400])
  }, 60_000)

  test('a stop does not wait for it', async () => {
    const { server, reader } = await openShop()
    const waiting = reader.ask('after=newest&wait=20')
    await until('it waits', async () => (await reader.ask('')).status === 200)
    const begunMs = systemClock.elapsed()
    const ended = server.stop()
    expect((await waiting).status).toBe(200)
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(systemClock.elapsed() - begunMs).toBeLessThan(15_000)
  }, 60_000)
})

test('with EVENTS=off nothing is written', async () => {
  const { shop, reader } = await openShop({ EVENTS: 'off' })
  const sale = await shop.openSale(-1_000, [{ units: 1 }])
  await buy(shop, sale.id, sale.items[0]!.id, 'ann')
  expect((await reader.ask('')).body).toEqual({ events: [], next: '0' })
}, 60_000)

describe('kill -9 of the server under load: every change is told once, in order, and none is lost:', () => {
  const UNITS = 150
  const names = Array.from({ length: 160 }, (_, i) => `buyer-${i}`)
  const specs = [
    ['events.before=kill@12', 'events.before=kill@2', 'events.before=kill@1'],
    ['events.numbered=kill@12', 'events.numbered=kill@2', 'events.numbered=kill@1'],
    ['place.after=kill@3', 'place.before=kill@2', 'place.after=kill@1'],
  ]
  for (const points of specs) {
    test(points.join(', '), async () => {
      const begunMs = systemClock.elapsed()
      const site = await Site.start(playground, { dataDir: playground.dataDir(), faultPoints: points[0]! })
      // Where the leader's own rounds kill it, the sale may not be there yet.
      const shop = new Shop(() => site.url())
      const restarts = meanwhile(
        (async () => {
          for (const next of [...points.slice(1), '']) {
            await within(`a death at ${points[0]}`, 60_000, site.server().exited)
            await site.startAgain(next)
          }
        })(),
      )
      const sale = await untilDone(site, () => shop.openSale(-1_000, [{ units: UNITS }]))
      const item = sale.items[0]!.id
      const outcomes = atMost(8, names, async buyer => {
        const ticket = await untilDone(site, () => shop.ticket(buyer, sale.id, item))
        return persist(shop, ticket, 1, () => site.whileAway())
      })
      expect(await outcomes).toHaveLength(names.length)
      await restarts
      assertPromises(await gatherFacts(shop, sale, site.server()), begunMs)
      const reader = new EventReader(() => site.url())
      await until('all orders are told', async () => {
        await reader.catchUp()
        return reader.told().filter(line => line.startsWith('order.placed')).length >= UNITS
      })
      const orders = (await shop.orders(sale.id)).map(({ id }) => id)
      const placed = reader.told().flatMap(line => (line.startsWith('order.placed ') ? [line.split(' ')[1]!] : []))
      expect(placed.toSorted()).toEqual(orders.toSorted())
      expect(reader.told().filter(line => line.startsWith('item.'))).toEqual([`item.sold_out ${item}`])
    }, 180_000)
  }
})

/** Asked again while the server is away. */
async function untilDone<T>(site: Site, ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries === 50) throw error
      await within('the server ends', 20_000, site.server().exited).catch(() => {})
      await site.whileAway()
    }
  }
}
