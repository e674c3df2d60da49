import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { atMost, persist } from '../harness/crowd.ts'
import { gatherFacts } from '../harness/facts.ts'
import { untilSettled } from '../harness/money-books.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'
import { assertPromises } from '../harness/verdict.ts'

const BUYERS = 60
const WIDTH = 20
const ATTEMPTS = 3
const NOT_AWAY = () => Promise.reject(new Error('nobody is away'))

const playground = new Playground()
afterEach(() => playground.undo())

/** Everybody orders and cancels, again and again without a pause, until there is no attempt left. */
async function changeTheirMinds(shop: Shop) {
  const sale = await shop.openSale(-1_000, [{ units: BUYERS, attemptsMax: ATTEMPTS }])
  const item = sale.items[0]?.id ?? ''
  const buyers = Array.from({ length: BUYERS }, (_, i) => `buyer-${i}`)
  await atMost(WIDTH, buyers, async buyer => {
    const orders = new Set<string>()
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const ticket = await shop.ticket(buyer, sale.id, item)
      expect(ticket.attempt).toBe(attempt)
      const told = await persist(shop, ticket, 1, NOT_AWAY)
      if (!('order' in told.answer)) throw new Error(`${buyer} was told ${told.answer.kind}`)
      const { id } = told.answer.order
      orders.add(id)
      // Of a cluster that is slow the first word is "reserved": only what stands in the ledger can be cancelled.
      await until(`order ${id} is cancelled`, () =>
        shop.cancel(id).then(
          () => true,
          (error: unknown) => {
            if (!String(error).includes('not_placed')) throw error
            return false
          },
        ),
      )
    }
    expect(orders.size).toBe(ATTEMPTS)
    await expect(shop.ticket(buyer, sale.id, item)).rejects.toThrow('attempts_used')
  })
  return sale
}

test('who has cancelled is given the next attempt at once, and none after the last', async () => {
  const begunMs = systemClock.elapsed()
  const server = await Stampede.start(playground, { dataDir: playground.dataDir() })
  const shop = new Shop(() => server.url())
  const sale = await changeTheirMinds(shop)
  await untilSettled(server.dataDir)
  assertPromises(await gatherFacts(shop, sale, server), begunMs)
}, 300_000)

test('also where the edge that was asked keeps no gate', async () => {
  const begunMs = systemClock.elapsed()
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const [one, two] = cluster.edges()
  let asked = 0
  const shop = new Shop(() => (asked++ % 2 === 0 ? one : two)!.server().url())
  const sale = await changeTheirMinds(shop)
  await cluster.quiet(shop, sale)
  assertPromises(await gatherFacts(shop, sale, one!.server()), begunMs)
}, 300_000)
