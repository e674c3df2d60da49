/** The gate comes back: after a Redis that answers and takes no writes, after one that lost a hundred items, beside a process that failed to start. */

import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { Playground } from '../harness/playground.ts'
import { Shop, type ShopSale, type WireAudit } from '../harness/shop.ts'
import { Stampede } from '../harness/stampede.ts'
import { until } from '../harness/until.ts'

const SOON_MS = 120_000
/** An address that no machine has: listening there fails. */
const NOT_OURS = '192.0.2.1'

const playground = new Playground()
afterEach(() => playground.undo())

/** Resolves when the condition holds for every item of the sale, with how long that took. */
async function untilAll(
  what: string,
  shop: Shop,
  sale: ShopSale,
  is: (item: WireAudit) => boolean,
  limitMs = SOON_MS,
): Promise<number> {
  const fromMs = systemClock.elapsed()
  await until(
    what,
    async () => {
      const items = await shop.audit(sale.id).catch(() => [])
      return items.length === sale.items.length && items.every(is)
    },
    limitMs,
  )
  return systemClock.elapsed() - fromMs
}

/** A new buyer gets an order, whichever door is open. */
async function buys(shop: Shop, sale: ShopSale, buyer: string): Promise<void> {
  const ticket = await shop.ticket(buyer, sale.id, sale.items[0]!.id)
  await until(`an order of the buyer ${buyer}`, async () => 'order' in (await shop.order(ticket, 1)).answer)
}

for (const [what, worse, better] of [
  ['follows another and takes no writes', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ['is full', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
] as const) {
  test(`a Redis that answers but ${what} counts as away: the ledger sells, then the gate again when Redis takes writes`, async () => {
    const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1 })
    const shop = new Shop(() => cluster.url())
    const sale = await shop.openSale(-1_000, [{ units: 10 }])
    await buys(shop, sale, 'at the gate')
    await cluster.redis.command(...worse)
    await untilAll('the ledger door', shop, sale, ({ door }) => door === 'ledger')
    await buys(shop, sale, 'at the ledger')
    await cluster.redis.command(...better)
    await untilAll('the gate again', shop, sale, ({ door, gate }) => door === 'gate' && gate?.left === 8)
    await buys(shop, sale, 'at the gate again')
    await cluster.quiet(shop, sale)
  }, 300_000)
}

test('a Redis that lost everything: a hundred items are back after about one fence, not after one for every few of them', async () => {
  const fenceMs = 3_000
  // Eight at a time would take thirteen fences.
  const soonMs = 8 * fenceMs
  const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1, fenceMs })
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(
    -1_000,
    Array.from({ length: 100 }, () => ({ units: 10 })),
  )
  await untilAll('all of them on sale', shop, sale, ({ door, gate }) => door === 'gate' && gate !== null)
  await cluster.redis.command('FLUSHALL')
  const tookMs = await untilAll(
    'all of them on sale again',
    shop,
    sale,
    ({ door, gate, epoch }) => door === 'gate' && gate !== null && epoch > 1,
    soonMs,
  )
  console.log(`  ${Math.round(tookMs)} ms with a fence of ${fenceMs} ms`)
  expect(tookMs).toBeLessThan(soonMs)
}, 300_000)

test('a process that cannot listen leaves no lease that a rebuild must wait for', async () => {
  const cluster = await Cluster.start(playground, { edges: 1, workers: 1, keepers: 1 })
  const shop = new Shop(() => cluster.url())
  const sale = await shop.openSale(-1_000, [{ units: 10 }])
  const leases = () => cluster.sql("SELECT id FROM nodes WHERE holder <> '' ORDER BY id")
  const before = await leases()
  const lost = Stampede.spawn(playground, {
    dataDir: playground.dataDir(),
    env: { ...cluster.envOf('edge'), HOST: NOT_OURS },
  })
  expect(await lost.exited).toMatchObject({ code: 1 })
  expect(before.length, 'every other process has one').toBeGreaterThanOrEqual(2)
  expect(await leases(), 'what a rebuild would wait for').toEqual(before)
  await cluster.redis.command('FLUSHALL')
  await untilAll('the rebuilt gate', shop, sale, ({ epoch, door }) => door === 'gate' && epoch > 1)
}, 300_000)
