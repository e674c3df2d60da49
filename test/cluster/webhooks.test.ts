/** The acting keeper sends webhooks. It dies, or is stopped and wakes again beside its successor: every event arrives, in order per order. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { atMost } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { until } from '../harness/until.ts'
import { answer, openReceiver } from '../harness/webhook-receiver.ts'
import { firstOnes, verified, WebhookDesk } from '../webhooks/webhook-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

const ORDERS = 30

test.each(['kill', 'stop'])('a sender that gets a %s after it has sent is followed by another', async what => {
  const env = { WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8' }
  const envFor = (role: string, i: number): Record<string, string> =>
    role === 'keeper' && i === 0 ? { FAULT_POINTS: `webhook.sent=${what}@3` } : {}
  const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 2, env, envFor })
  const [first, second] = cluster.of('keeper')
  const url = () => cluster.of('edge')[0]!.server().url()
  const shop = new Shop(url)
  const desk = new WebhookDesk(url)
  const receiver = await openReceiver(playground, answer(200))
  const { id, secret } = await desk.create({
    url: receiver.url(),
    types: ['stampede.order.placed', 'stampede.order.closed'],
  })
  // The first one acts: the second is away until a sale is warm.
  await second!.server().stop()
  const sale = await shop.openSale(-1_000, [{ units: ORDERS }])
  await second!.startAgain()
  const buyers = Array.from({ length: ORDERS }, (_, i) => `buyer-${i}`)
  await atMost(4, buyers, async buyer => {
    const told = await shop.order(await shop.ticket(buyer, sale.id, sale.items[0]!.id), 1)
    expect(['placed', 'reserved']).toContain(told.answer.kind)
  })
  const rows = () => shop.orders(sale.id).then(all => all.filter(({ state }) => state !== 'reserved'))
  await until('all are placed', async () => (await rows()).length === ORDERS)
  for (const { id: order } of await rows()) await shop.cancel(order)

  const messages = () => receiver.received.map(one => verified(secret, one))
  await until('every event has arrived', () => new Set(messages().map(one => one.id)).size === 2 * ORDERS)
  await until('nothing waits', async () => (await desk.find(id)).waiting === 0)
  const seen = receiver.received.length
  if (what === 'stop') {
    // It wakes, finds its term over, and neither writes nor sends what is delivered already.
    process.kill(first!.server().pid, 'SIGCONT')
    const last = await shop.openSale(-1_000, [{ units: 1 }])
    await shop.order(await shop.ticket('late', last.id, last.items[0]!.id), 1)
    await until('the next event has arrived', () => receiver.received.length > seen)
  }
  if (what === 'kill') expect(first!.server().running()).toBe(false)
  const arrived = firstOnes(messages())
  for (const { id: order } of await rows())
    expect(arrived.filter(({ subject }) => subject === order).map(({ type }) => type)).toEqual([
      'stampede.order.placed',
      'stampede.order.closed',
    ])
  // What was under way when it died may come twice: at most as many as are sent at once.
  expect(seen - 2 * ORDERS).toBeLessThanOrEqual(8)
})
