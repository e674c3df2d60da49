/** What the shop hears of a real server, while it sells, dies and comes back. */

import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020'
import { CloudEvent } from 'cloudevents'
import { systemClock } from '../src/base/clock.ts'
import { EVENT_TYPES, schemaOf } from '../src/wire/events/event-schemas.ts'
import { atMost, meanwhile, persist } from './harness/crowd.ts'
import { EventReader } from './harness/event-reader.ts'
import { gatherFacts } from './harness/facts.ts'
import { freePort } from './harness/free-port.ts'
import { listenTo } from './harness/heard-out.ts'
import { payUrlOf, Till } from './harness/money.ts'
import { Playground } from './harness/playground.ts'
import { PROGRAM } from './harness/program.ts'
import { Shop } from './harness/shop.ts'
import { Site } from './harness/site.ts'
import { ADMIN_TOKEN, Stampede } from './harness/stampede.ts'
import { until, within } from './harness/until.ts'
import { assertPromises } from './harness/verdict.ts'

setDefaultTimeout(300_000)

const SCHEMAS = resolve(import.meta.dirname, '../docs/events')
const ajv = new Ajv2020({ strict: true, formats: { 'date-time': text => !Number.isNaN(Date.parse(text)) } })

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
  const { shop, till, reader } = await openShop({ CLOSING_SOON_SECONDS: '20', PUBLIC_URL: 'http://sale.example' })
  const sale = await shop.openSale(-1_000, [
    { units: 2, sku: 'TEA-1', payWithinSeconds: 600 },
    { units: 5, payWithinSeconds: 41 },
  ])
  const [tea, cup] = sale.items.map(item => item.id) as [string, string]
  const paid = await buy(shop, sale.id, tea, 'ann')
  const cancelled = await buy(shop, sale.id, tea, 'ben')
  const slow = await buy(shop, sale.id, cup, 'cyd')
  await till.decide(payUrlOf(await till.pay(await till.order(paid))), 'approve')
  await until('the order is paid', async () => (await till.order(paid)).state === 'paid')
  await till.cancel(await till.order(cancelled))
  expect((await till.refund(paid, false)).status).toBe(200)
  await until('the slow order is closing soon', async () =>
    (await reader.catchUp()).some(({ type }) => type === 'stampede.order.closing_soon'),
  )
  await till.cancel(await till.order(slow))
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
    expect(new CloudEvent(event as object).toJSON()).toMatchObject(JSON.parse(JSON.stringify(event)))
    const published = ajv.compile(JSON.parse(readFileSync(join(SCHEMAS, `${type}.json`), 'utf8')))
    expect(published(event), `${type}: ${ajv.errorsText(published.errors)}`).toBe(true)
    expect(published({ ...event, data: {} }), `${type} without its data`).toBe(false)
    expect(event.source).toBe('http://sale.example')
    // Beyond the buyer's id nothing is known of a person, and nothing may be told.
    expect(JSON.stringify(event)).not.toMatch(/token|address|mail|phone/i)
  }
  const over = reader.events.find(({ type }) => type === 'stampede.sale.over')!
  expect(over.data.results).toMatchObject([
    { item: tea, refundedOrders: 1, cancelledOrders: 1 },
    { item: cup, cancelledOrders: 1 },
  ])
  const first = reader.events.find(({ subject }) => subject === paid)!
  expect(first.data).toMatchObject({ buyer: 'ann', sku: 'TEA-1', state: 'pending', quantity: 1 })
})

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
  })

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
  })

  test('a stop does not wait for it', async () => {
    const { server, reader } = await openShop()
    const waiting = reader.ask('after=newest&wait=20')
    await until('it waits', async () => (await reader.ask('')).status === 200)
    const ended = server.stop()
    expect((await waiting).status).toBe(200)
    expect(await ended).toEqual({ code: 0, signal: null })
  })
})

test('with EVENTS=off nothing is written', async () => {
  const { shop, reader } = await openShop({ EVENTS: 'off' })
  const sale = await shop.openSale(-1_000, [{ units: 1 }])
  await buy(shop, sale.id, sale.items[0]!.id, 'ann')
  expect((await reader.ask('')).body).toEqual({ events: [], next: '0' })
})

test('stampede events tail follows through a restart of the server, and goes on where its cursor file says', async () => {
  const port = String(await freePort())
  const dataDir = playground.dataDir()
  const start = () => Stampede.start(playground, { dataDir, env: { PORT: port } })
  let server = await start()
  const shop = new Shop(() => server.url())
  const sale = await shop.openSale(-1_000, [{ units: 10 }])
  const item = sale.items[0]!.id
  const cursorFile = join(dirname(dataDir), 'cursor')
  const run = (...more: string[]) => {
    const child = spawn(process.execPath, [PROGRAM, 'events', 'tail', '--cursor-file', cursorFile, ...more], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        STAMPEDE_SERVER: server.url(),
        STAMPEDE_TOKEN: ADMIN_TOKEN,
      },
    })
    const heard = listenTo(child)
    playground.onUndo(() => void child.kill('SIGKILL'))
    const subjects = () =>
      heard
        .out()
        .split('\n')
        .filter(Boolean)
        .map(line => (JSON.parse(line) as { subject: string }).subject)
    return { child, heard, subjects }
  }
  const following = run('--after', 'oldest')
  const first = await buy(shop, sale.id, item, 'ann')
  await until('the first order is printed', () => following.subjects().includes(first))
  await server.kill()
  server = await start()
  const second = await buy(shop, sale.id, item, 'ben')
  await until('the second order is printed', () => following.subjects().includes(second))
  // The leader sees that a sale has opened when it looks: the first orders may be told before.
  expect(following.subjects().toSorted()).toEqual([sale.id, first, second].toSorted())
  await until('the cursor is kept', () => existsSync(cursorFile) && readFileSync(cursorFile, 'utf8') === '3\n')
  following.child.kill('SIGKILL')
  const third = await buy(shop, sale.id, item, 'cyd')
  await until(
    'the third order has its number',
    async () => (await new EventReader(() => server.url()).ask('after=newest')).body.next === '4',
  )
  const again = run('--no-follow')
  expect((await again.heard.ran).code).toBe(0)
  expect(again.subjects()).toEqual([third])
  writeFileSync(cursorFile, '99\n')
  expect(await run('--no-follow').heard.ran).toMatchObject({
    code: 1,
    out: '',
    err: expect.stringContaining('cursor_expired'),
  })
})

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
            await within(`a death at ${points[0]}`, 120_000, site.server().exited)
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
    })
  }
})

/** Asked again while the server is away. */
async function untilDone<T>(site: Site, ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries === 1_000) throw error
      // It is dying, or the sale is not warm yet: asking again is what any client does.
      await systemClock.sleep(50)
      await site.whileAway()
    }
  }
}
