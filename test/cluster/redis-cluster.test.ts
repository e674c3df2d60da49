import { afterEach, expect, test } from 'bun:test'
import { slotOf } from '../../src/base/redis/slots.ts'
import { shardIdsOf } from '../../src/gate/shard-ids.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { RedisCluster } from '../harness/redis-cluster.ts'
import { until, within } from '../harness/until.ts'
import { buyersOf, shardLedger } from './shard-ledger.ts'
import { Stage } from './stage.ts'

const UNITS = 400
const BUYERS = 440
const SOON_MS = 120_000
const ENV = { REDIS_DURABILITY: 'replica', REDIS_REPLICAS: '1' }

const playground = new Playground()
afterEach(() => playground.undo())

test('Redis Cluster: the primary of the item dies in mid-sale, later its slot moves to another: nobody who was told has lost anything', async () => {
  const redis = await RedisCluster.start(playground, { nodeTimeoutMs: 1_500 })
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, redisUrl: redis.url, env: ENV })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const slot = slotOf(stage.item)
  const first = await redis.ownerOf(slot)

  const half = stage.tickets.length / 2
  const before = meanwhile(stage.everybodyBuys(stage.tickets.slice(0, half)))
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  await first.kill()
  const heir = await redis.failedOver(slot, first)
  // Nobody follows the heir now: whoever starts meanwhile starts all the same.
  const edge = cluster.edges()[1]!
  await edge.server().stop()
  await within('an edge that starts meanwhile', SOON_MS, edge.startAgain())
  await first.start()
  const outcomes = [...(await within('the first half has an answer', SOON_MS, before))]
  await redis.whole()
  await stage.soldAtTheGate(SOON_MS)

  const after = meanwhile(stage.everybodyBuys(stage.tickets.slice(half)))
  await within('more of it sold', SOON_MS, stage.shop.placed(half + UNITS / 10))
  const to = await redis.anotherThan(slot)
  await redis.moveSlot(slot, to)
  expect([to === heir, await redis.ownerOf(slot)]).toEqual([false, to])
  outcomes.push(...(await within('everybody has an answer', SOON_MS, after)))
  await stage.judge(outcomes)
  // Opened, built anew where it went, and again; the ledger may have sold in between.
  await until('a third gate', async () => (await stage.soldAtTheGate(SOON_MS)) >= 3, SOON_MS)
}, 300_000)

test('Redis Cluster: an item in eight shards, and the slot of one of them moves in mid-sale: no answer is broken', async () => {
  const SHARDS = 8
  const redis = await RedisCluster.start(playground)
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1, redisUrl: redis.url, env: ENV })
  const ledger = shardLedger(cluster)
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, shards: SHARDS })
  const shards = shardIdsOf(stage.item, SHARDS)
  expect(await ledger.shards(), 'shards at the opening').toBe(SHARDS)
  const buying = meanwhile(stage.everybodyBuys())
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  const slot = slotOf(shards[5]!)
  const to = await redis.anotherThan(slot)
  await redis.moveSlot(slot, to)
  expect(await redis.ownerOf(slot)).toBe(to)
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
  // Opened, and built anew where it went: also when all of it was sold before anybody noticed.
  await until('a second gate', async () => (await stage.soldAtTheGate(SOON_MS)) >= 2, SOON_MS)
}, 300_000)

test('Redis Cluster: the primary of a place dies while units are on their way to it: the move is void, and every unit is sold once', async () => {
  const SHARDS = 4
  const redis = await RedisCluster.start(playground, { nodeTimeoutMs: 1_500 })
  const cluster = await Cluster.start(playground, {
    edges: 2,
    workers: 1,
    keepers: 1,
    redisUrl: redis.url,
    env: ENV,
    // Long enough for a slow machine to notice, to find the primary and to kill it.
    faultPoints: { keeper: 'move.journalled=delay:12000' },
  })
  const ledger = shardLedger(cluster)
  const names = buyersOf(3, SHARDS, UNITS / 2)
  const stage = await Stage.set(cluster, { units: UNITS / 2 - 10, buyers: names.length, names, shards: SHARDS })
  const buying = meanwhile(stage.everybodyBuys())
  await until('units between two shards', async () => (await ledger.moves())[0]?.state === 'taken', SOON_MS)
  const slot = slotOf(shardIdsOf(stage.item, SHARDS)[3]!)
  const first = await redis.ownerOf(slot)
  await first.kill()
  expect((await ledger.moves())[0]).toMatchObject({ to_shard: 3, state: 'taken' })
  await redis.failedOver(slot, first)
  await first.start()
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
  await until('no move is open', async () => (await ledger.open()) === 0, SOON_MS)
  expect((await ledger.moves())[0]).toMatchObject({ no: 1, state: 'void' })
}, 300_000)
