/** Operators keep somebody out: in force on four edges within a second, and an order that is held stays its buyer's. */

import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { RawSocket } from '../harness/raw-socket.ts'
import { Shop } from '../harness/shop.ts'
import { ADMIN_TOKEN } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const IN_FORCE_MS = 1_000
/** Who is not denied is refused for the quantity, and gets no order by it. */
const TOO_MANY = 9
/** Of the machine's own; nothing else comes from there. */
const ELSEWHERE = '127.0.0.9'

const playground = new Playground()
afterEach(() => playground.undo())

test('a denied buyer and a denied address are refused on four edges within a second, and let in as soon as they are off the list', async () => {
  const cluster = await Cluster.start(playground, { edges: 4, workers: 1, keepers: 1 })
  const shop = new Shop(() => cluster.url())
  const till = new Till(() => cluster.url())
  const sale = await shop.openSale(-1_000, [{ units: 50 }])
  const item = sale.items[0]!.id
  const path = `/api/sales/${sale.id}/items/${item}`
  const edges = cluster.edges().map(edge => edge.server().url())
  const [ann, bob] = [await shop.ticket('ann', sale.id, item), await shop.ticket('bob', sale.id, item)]
  await until('ann has an order', async () => 'order' in (await shop.order(ann, 1)).answer)
  const ask = (ticket: string, quantity: number) => async (url: string) => {
    const headers = { authorization: `Bearer ${ticket}` }
    return (await fetch(`${url}${path}/orders`, { method: 'POST', headers, body: JSON.stringify({ quantity }) })).status
  }
  const timeFrom = async (url: string) => {
    const socket = await RawSocket.open(playground, url, { from: ELSEWHERE })
    return (await socket.ask('GET', '/api/time', {}, ''))?.status
  }
  /** How long it took until every edge answered so. */
  async function inForce(what: string, look: (url: string) => Promise<number | undefined>, status: number) {
    const fromMs = systemClock.elapsed()
    await Promise.all(edges.map(url => until(what, async () => (await look(url)) === status, 5 * IN_FORCE_MS)))
    console.log(`  ${what} after ${Math.round(systemClock.elapsed() - fromMs)} ms`)
  }
  const add = async (body: object) => (await till.operator('POST', '/lists', body)) as unknown as { id: string }

  const denied = [
    await add({ kind: 'deny', subject: 'buyer', value: 'ann', reason: 'test' }),
    await add({ kind: 'deny', subject: 'buyer', value: 'bob' }),
    await add({ kind: 'deny', subject: 'address', value: ELSEWHERE }),
  ]
  await inForce('a denied buyer is refused', ask(bob.text, TOO_MANY), 403)
  await inForce('a denied address is refused', timeFrom, 403)
  // Ann holds an order: asking again finds it, she gets its ticket, and can cancel it.
  expect(await Promise.all(edges.map(ask(ann.text, 1)))).toEqual([200, 200, 200, 200])
  expect((await shop.ticket('ann', sale.id, item)).attempt).toBe(1)

  const lists = (await till.operator('GET', '/lists')) as unknown as { lists: { id: string; by: string }[] }
  expect(lists.lists.map(({ id }) => id)).toEqual(denied.map(({ id }) => id).toReversed())
  for (const { id } of denied) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    expect((await fetch(`${cluster.url()}/api/admin/lists/${id}`, { method: 'DELETE', headers })).status).toBe(204)
  }
  await inForce('the address is let in again', timeFrom, 200)
  expect(await ask(bob.text, 1)(edges[3]!)).toBeOneOf([201, 202])
}, 300_000)
