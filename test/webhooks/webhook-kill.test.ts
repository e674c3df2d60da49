/** The sender dies with SIGKILL at each of its fault points: every event arrives at least once, and in order per order. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { atMost } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { Site } from '../harness/site.ts'
import { until, within } from '../harness/until.ts'
import { answer, openReceiver } from '../harness/webhook-receiver.ts'
import { firstOnes, verified, WebhookDesk } from './webhook-desk.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

const ORDERS = 40
const ENV = { WEBHOOK_ALLOW_PRIVATE: '127.0.0.0/8' }
const DIES_MS_MAX = 120_000

test.each(['webhook.queued', 'webhook.before', 'webhook.sent', 'webhook.settled'])(
  'dying at %s loses no event and turns none around',
  async point => {
    const site = await Site.start(playground, {
      dataDir: playground.dataDir(),
      env: ENV,
      faultPoints: `${point}=kill@2`,
    })
    const shop = new Shop(() => site.url())
    const desk = new WebhookDesk(() => site.url())
    const receiver = await openReceiver(playground, answer(200))
    const { secret, id } = await desk.create({
      url: receiver.url(),
      types: ['stampede.order.placed', 'stampede.order.closed'],
    })
    const sale = await shop.openSale(-1_000, [{ units: ORDERS }])
    const [item] = sale.items
    const orders: string[] = []
    const buy = async (buyer: string) => {
      const told = await shop.order(await shop.ticket(buyer, sale.id, item!.id), 1)
      if (told.answer.kind !== 'placed') return
      await shop.cancel(told.answer.order.id)
      orders.push(told.answer.order.id)
    }
    // Asked for until the process dies, and after it is back: what its end leaves unanswered is not counted.
    const buyAll = (name: string) =>
      atMost(
        4,
        Array.from({ length: ORDERS / 2 }, (_, i) => `${name}-${i}`),
        buyer => buy(buyer).catch(() => {}),
      )
    const before = buyAll('before')
    await within('the server dies', DIES_MS_MAX, site.server().exited)
    await before
    await site.startAgain('')
    await buyAll('after')

    const rows = await shop.orders(sale.id)
    const wanted = rows.length + rows.filter(({ state }) => state === 'closed').length
    expect(orders.length).toBeGreaterThan(0)
    const messages = () => receiver.received.map(one => verified(secret, one))
    await until('every event has arrived', () => new Set(messages().map(one => one.id)).size >= wanted)
    const first = firstOnes(messages())
    expect(first).toHaveLength(wanted)
    for (const order of rows) {
      const types = first.filter(({ subject }) => subject === order.id).map(({ type }) => type.replace('stampede.', ''))
      expect(types).toEqual(order.state === 'closed' ? ['order.placed', 'order.closed'] : ['order.placed'])
    }
    await until('nothing waits', async () => (await desk.find(id)).waiting === 0)
  },
)
