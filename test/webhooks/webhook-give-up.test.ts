/** A short life for deliveries: what fails for as long is marked, shown, and sent again by an operator; the rest is bounded. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { sql } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { answer, openReceiver } from '../harness/webhook-receiver.ts'
import { firstOnes, verified, WebhookDesk } from './webhook-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
let server: Stampede
let shop: Shop
let desk: WebhookDesk

beforeAll(async () => {
  const env = { WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8', WEBHOOK_RETRY_SECONDS: '1' }
  server = await Stampede.start(playground, { dataDir: playground.dataDir(), env })
  shop = new Shop(() => server.url())
  desk = new WebhookDesk(() => server.url())
})
afterAll(() => playground.undo())

test('a delivery that fails for too long is marked as failed, lets the next of its order try, and is sent again by hand', async () => {
  const receiver = await openReceiver(playground, answer(500, 'x'.repeat(5_000)))
  const types = ['stampede.order.placed', 'stampede.order.closed']
  const { id, secret } = await desk.create({ url: receiver.url(), types })
  const sale = await shop.openSale(-1_000, [{ units: 5 }])
  const told = await shop.order(await shop.ticket('ann', sale.id, sale.items[0]!.id), 1)
  if (told.answer.kind !== 'placed') throw new Error(told.answer.kind)
  await shop.cancel(told.answer.order.id)
  await until('both have failed', async () => (await desk.find(id)).failed === 2)
  const failed = await desk.deliveries(id, 'state=failed')
  expect(failed.map(({ type }) => type)).toEqual(types.toReversed())
  expect(failed[0]).toMatchObject({ status: 500, problem: 'answer', answer: 'x'.repeat(1024) })

  receiver.answering = answer(200)
  const seen = receiver.received.length
  expect(await desk.resendFailed(id)).toBe(2)
  await until('both are there', () => receiver.received.length === seen + 2)
  const again = receiver.received.slice(seen).map(one => verified(secret, one))
  expect(firstOnes(again).map(({ type }) => type)).toEqual(types)
  await until('none is left', async () => (await desk.find(id)).failed === 0)
  await desk.delete(id)
})

test('an endpoint that is far behind costs a bounded number of rows', async () => {
  const receiver = await openReceiver(playground, answer(200))
  const { id, secret } = await desk.create({ url: receiver.url() })
  await desk.change(id, { state: 'off' })
  // Numbered events of an item, as the ledger writes them.
  const sale = await shop.openSale(-1_000, [{ units: 5 }])
  await sql(
    server.dataDir,
    `INSERT INTO events (type, items) SELECT 'item.back', ARRAY[${sale.items[0]!.id}] FROM generate_series(1, 800)`,
  )
  const rows = async () => Number((await sql(server.dataDir, 'SELECT count(*) FROM webhook_deliveries'))[0]?.count)
  let inFlight = 0
  let most = 0
  receiver.answering = (one, response) => {
    inFlight += 1
    most = Math.max(most, inFlight)
    setImmediate(() => {
      inFlight -= 1
      answer(500)(one, response)
    })
  }
  await desk.change(id, { state: 'active' })
  await until('it is failing', async () => (await desk.find(id)).failingSince !== undefined)
  expect(await rows()).toBeLessThanOrEqual(500)
  expect(most).toBeLessThanOrEqual(8)
  expect(receiver.received.length).toBeLessThan(100)
  receiver.answering = answer(200)
  await desk.change(id, { state: 'active' })
  const ids = () => new Set(receiver.received.map(one => verified(secret, one).id))
  await until('all have arrived', () => ids().size >= 800)
})
