import { afterEach, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { WatchedRedis } from '../harness/redis-sentinel.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 400
const BUYERS = 440
const SOON_MS = 120_000
const ENV = { REDIS_DURABILITY: 'replica', REDIS_REPLICAS: '1' }

const playground = new Playground()
afterEach(() => playground.undo())

test('Sentinel: the primary dies in mid-sale, and later its heir: nobody who was told has lost anything', async () => {
  const redis = await WatchedRedis.start(playground, { downAfterMs: 1_500 })
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, redisUrl: redis.url, env: ENV })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const first = await redis.primary()

  const half = stage.tickets.length / 2
  const before = meanwhile(stage.everybodyBuys(stage.tickets.slice(0, half)))
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  await first.kill()
  const heir = await redis.failedOver(first)
  await first.start()
  const outcomes = [...(await within('the first half has an answer', SOON_MS, before))]
  await redis.whole()
  await stage.soldAtTheGate(SOON_MS)

  const after = meanwhile(stage.everybodyBuys(stage.tickets.slice(half)))
  await within('more of it sold', SOON_MS, stage.shop.placed(half + UNITS / 10))
  // For a while after the last failover there is none: the ledger sells meanwhile.
  await heir.kill()
  await redis.failedOver(heir)
  outcomes.push(...(await within('everybody has an answer', SOON_MS, after)))
  await stage.judge(outcomes)
  // Opened, built anew where it went, and again; the ledger may have sold in between.
  await until('a third gate', async () => (await stage.soldAtTheGate(SOON_MS)) >= 3, SOON_MS)
}, 300_000)
