/** The story of orders whose parts died on the way: a worker killed after COMMIT, and a gate that was lost, so that the edge handed its reservations to the ledger. */

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import type { OrderStoryAnswer } from '../../src/wire/order-story.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { gauge } from '../harness/gauges.ts'
import { Playground } from '../harness/playground.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { Stage } from './stage.ts'

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

async function storyOf(cluster: Cluster, order: string): Promise<OrderStoryAnswer> {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const response = await fetch(`${cluster.edges()[0]!.server().url()}/api/admin/orders/${order}/story`, { headers })
  expect(response.status).toBe(200)
  return (await response.json()) as OrderStoryAnswer
}

/** Whole, in order, without a step that ends before it began. */
function expectWhole({ order, story }: OrderStoryAnswer): void {
  const refused =
    order.reason === 'refused' ? [order.supersededBy === undefined ? 'refused' : 'superseded'] : ['placed']
  expect(story.map(({ what }) => what)).toEqual(['asked', 'reserved', ...refused])
  expect(story.map(({ at }) => at)).toEqual(story.map(({ at }) => at).toSorted())
  for (const step of story.slice(1)) expect(step.tookMs).toBeGreaterThanOrEqual(0)
}

test('orders of a worker that was killed after COMMIT have their whole story', async () => {
  const cluster = await Cluster.start(playground, {
    edges: 1,
    workers: 1,
    keepers: 1,
    faultPoints: { worker: 'place.after=kill@1' },
  })
  const stage = await Stage.set(cluster, { units: 10, buyers: 10, atATime: 4 })
  const buying = meanwhile(stage.everybodyBuys())
  const [worker] = cluster.of('worker')
  await until('the worker is dead', () => !worker!.running())
  await worker!.startAgain()
  await stage.judge(await buying)
  const orders = await stage.shop.orders(stage.sale.id)
  expect(orders).toHaveLength(10)
  for (const { id } of orders) {
    const told = await storyOf(cluster, id)
    expectWhole(told)
    expect(told.epoch).toBe(told.itemEpoch)
  }
})

test('orders that an edge handed over when the gate was lost say under which epoch they were placed', async () => {
  const cluster = await Cluster.start(playground, {
    edges: 1,
    workers: 1,
    keepers: 1,
    // What was acknowledged waits for the worker when the gate is lost.
    faultPoints: { worker: 'place.before=delay:1500@*' },
  })
  const stage = await Stage.set(cluster, { units: 20, buyers: 20, atATime: 20 })
  const buying = meanwhile(stage.everybodyBuys())
  const [edge] = cluster.edges()
  const reserved = () => gauge(edge!.server(), 'stampede_order_asks_total{outcome="reserved"}').catch(() => 0)
  await until('some are reserved', async () => (await reserved()) > 0)
  await cluster.redis.command('FLUSHALL')
  await stage.judge(await buying)
  const orders = await stage.shop.orders(stage.sale.id)
  const stories = await Promise.all(orders.map(({ id }) => storyOf(cluster, id)))
  for (const told of stories) {
    expectWhole(told)
    expect(told.itemEpoch).toBeGreaterThan(1)
  }
  const before = stories.filter(({ epoch, itemEpoch }) => epoch! < itemEpoch!)
  expect(before.length, 'orders of the lost gate').toBeGreaterThan(0)
  for (const { epoch, itemEpoch, story } of before)
    expect(story.at(-1)!.text).toContain(`epoch ${epoch}; the item is at epoch ${itemEpoch} since`)
})
