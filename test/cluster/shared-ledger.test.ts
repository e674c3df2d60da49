/** One ledger shared by a cluster and a process without Redis; and items that a cluster sells straight into the ledger while it has no Redis. */

import { afterEach, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { persist } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN, Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('a process without REDIS_URL on a cluster’s ledger does not take the items over: every reservation that was answered with "reserved" becomes an order', async () => {
  const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1 })
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(-1_000, [{ units: 10 }])
  const item = sale.items[0]!.id
  const [worker] = cluster.of('worker')
  const [keeper] = cluster.of('keeper')
  worker!.freeze()
  const reserved: string[] = []
  for (const buyer of ['ann', 'ben', 'cy']) {
    const ticket = await shop.ticket(buyer, sale.id, item)
    const { order } = await until('a reservation', async () => {
      const { answer } = await shop.order(ticket, 1)
      return 'order' in answer ? answer : undefined
    })
    expect(order.state).toBe('reserved')
    reserved.push(order.id)
  }
  await keeper!.kill()
  const { REDIS_URL, ROLES, ...env } = cluster.envOf('edge')
  expect([REDIS_URL, ROLES]).toEqual([expect.stringContaining('redis'), 'edge'])
  const alone = Stampede.spawn(playground, { dataDir: playground.dataDir(), env })
  await until('it says why it waits', () => /stands by on .*: edges or workers of a cluster/.test(alone.output()))
  worker!.wake()
  const placed = await until('three rows', async () => {
    const orders = await shop.orders(sale.id)
    return orders.length === 3 ? orders : undefined
  })
  expect(placed.map(({ id, state }) => [id, state]).sort()).toEqual(reserved.sort().map(id => [id, 'pending']))
}, 300_000)

test('an item whose door is always the ledger needs no Redis, from its opening to its final report', async () => {
  const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1 })
  await cluster.redis.kill()
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(-1_000, [{ units: 1, door: 'ledger' }])
  const item = sale.items[0]!.id
  const ann = await shop.ticket('ann', sale.id, item)
  const order = await until('an order', async () => {
    const { answer } = await shop.order(ann, 1)
    return 'order' in answer ? answer.order : undefined
  })
  const ben = await shop.ticket('ben', sale.id, item)
  await until('sold out for every other buyer', async () => (await shop.order(ben, 1)).answer.kind === 'sold_out')
  const away = () => Promise.reject(new Error('the edge is away'))
  expect((await persist(shop, ann, 1, away)).answer).toMatchObject({ kind: 'same', order: { id: order.id } })
  await shop.cancel(order.id)
  await until('the unit is sold again', async () => 'order' in (await shop.order(ben, 1)).answer)
  for (const { id, state } of await shop.orders(sale.id)) if (state === 'pending') await shop.cancel(id)
  const call = (method: string, path: string) =>
    fetch(`${cluster.url()}/api/admin/sales/${sale.id}/${path}`, {
      method,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
    })
  expect((await call('POST', 'end')).status).toBe(200)
  await until('its final report', async () => {
    const { reports } = (await (await call('GET', 'reports')).json()) as { reports: { final: boolean }[] }
    return reports.some(report => report.final)
  })
}, 300_000)
