import { describe, expect, test } from 'bun:test'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { slotOf } from '../../base/redis/slots.ts'
import { ask, codes, ITEM, openTerms } from '../redis/redis-gate.fixture.ts'
import { RedisGate } from '../redis/redis-gate.ts'
import { createRedisOutbox } from '../redis/redis-outbox.ts'
import { clusterForAll, REPLICA, redisContract } from '../redis/redis-suites.fixture.ts'
import { shardIdFor, shardIdsOf } from '../shard-ids.ts'
import { createShardCounts } from './shard-counts.ts'
import { ShardedGate } from './sharded-gate.ts'
import { createShardedOutbox } from './sharded-outbox.ts'

const SHARDS = 4
const MANY = 16
const SOON_MS = 120_000
const { playground, cluster } = clusterForAll()

redisContract('sharded gate on a cluster', { shards: SHARDS, url: () => cluster().url, ...REPLICA })

describe('sharded gate on a cluster', () => {
  test('the shards of one item are on all servers; one that does not answer takes its shards away, and the others sell on', async () => {
    const connection = await connect(playground, cluster().url, { ...REPLICA, timeoutMs: 6_000 })
    const counts = createShardCounts()
    counts.learn(ITEM, { shards: MANY, epoch: 1, gateShards: MANY })
    const shardGate = new RedisGate(connection)
    const gate = new ShardedGate(shardGate, counts, systemClock)
    const outbox = createShardedOutbox(createRedisOutbox(connection), shardGate, counts)
    expect(await gate.activate(ITEM, 1, await openTerms(gate, { left: 100 * MANY }))).toEqual({ status: 'done' })

    const owners = new Map<string, number>()
    for (const shard of shardIdsOf(ITEM, MANY)) owners.set(shard, (await cluster().ownerOf(slotOf(shard))).port)
    expect(new Set(owners.values()).size).toBe(3)
    const buyers = Array.from({ length: 100 }, (_, i) => `buyer${i}`)
    const asks = buyers.map(buyer => ask(buyer))
    expect(new Set(codes(await gate.reserve(ITEM, 1, asks)))).toEqual(new Set(['reserved']))
    const { items, away } = await gate.status([ITEM])
    expect(items).toMatchObject([{ left: 100 * MANY - 100, held: 100, buyers: 100, moving: 0, uneven: false }])
    expect(away).toEqual([])
    expect(await outbox.depth([ITEM])).toMatchObject([{ units: 100 }])

    const silent = await cluster().ownerOf(slotOf(shardIdsOf(ITEM, MANY)[0]!))
    const isThere = (buyer: string) => owners.get(shardIdFor(ITEM, MANY, buyer)) !== silent.port
    process.kill(silent.pid, 'SIGSTOP')
    try {
      const [there, gone] = [asks.filter(one => isThere(one.buyer)), asks.filter(one => !isThere(one.buyer))]
      expect(await gate.status([ITEM])).toMatchObject({ items: [], away: [ITEM] })
      expect(new Set(codes(await gate.reserve(ITEM, 1, there)))).toEqual(new Set(['same']))
      expect(codes(await gate.reserve(ITEM, 1, gone))).toMatch(/unknown|busy/)
      expect(codes(await gate.reserve(ITEM, 1, asks))).toBe('unknown')
      expect(await gate.fence(ITEM, 1)).toEqual({ status: 'unknown' })
      await expect(Array.fromAsync(gate.holdings(ITEM, 1))).rejects.toMatchObject({ name: 'Fault' })
      await expect(outbox.depth([ITEM])).rejects.toMatchObject({ name: 'Fault' })
      expect(await outbox.status([ITEM])).toMatchObject({ items: [{ item: ITEM, units: there.length }], away: [ITEM] })
    } finally {
      process.kill(silent.pid, 'SIGCONT')
    }
    await until('all of them again', async () => (await gate.status([ITEM])).items.length === 1, SOON_MS)
    // Its replica follows a moment later; until then it acknowledges nothing.
    await until(
      'acknowledgements again',
      async () => !/unknown|busy/.test(String(codes(await gate.reserve(ITEM, 1, asks)))),
      SOON_MS,
    )
    expect(new Set(codes(await gate.reserve(ITEM, 1, asks)))).toEqual(new Set(['same']))
    expect((await gate.status([ITEM])).items).toMatchObject([{ left: 100 * MANY - 100, held: 100, buyers: 100 }])
  }, 300_000)

  test('a shard whose slot has moved to another server sells nothing there (E1), and the item is built anew', async () => {
    const item = '815'
    const connection = await connect(playground, cluster().url, REPLICA)
    const counts = createShardCounts()
    counts.learn(item, { shards: MANY, epoch: 1, gateShards: MANY })
    const shardGate = new RedisGate(connection)
    const gate = new ShardedGate(shardGate, counts, systemClock)
    const terms = await openTerms(gate, { left: 50 * MANY })
    expect(await gate.activate(item, 1, terms)).toEqual({ status: 'done' })
    const asks = Array.from({ length: 40 }, (_, i) => ask(`buyer${i}`))
    expect(new Set(codes(await gate.reserve(item, 1, asks)))).toEqual(new Set(['reserved']))
    const book = (await Array.fromAsync(gate.holdings(item, 1))).flat()
    expect(book).toHaveLength(40)

    const moved = shardIdFor(item, MANY, asks[0]!.buyer)
    await cluster().moveSlot(slotOf(moved), await cluster().anotherThan(slotOf(moved)))
    expect((await gate.reserve(item, 1, [asks[0]!])).status).toBe('stale')
    expect((await gate.status([item])).items).toEqual([])
    counts.learn(item, { shards: MANY, epoch: 2, gateShards: MANY })
    expect(await gate.fence(item, 2)).toEqual({ status: 'done' })
    expect(await gate.load(item, 2, book)).toEqual({ status: 'done' })
    const left = 50 * MANY - 40
    expect(await gate.activate(item, 2, { ...terms, left, held: 40, buyers: 40 })).toEqual({ status: 'done' })
    expect(new Set(codes(await gate.reserve(item, 2, asks)))).toEqual(new Set(['same']))
    expect((await gate.status([item])).items).toMatchObject([{ epoch: 2, left, held: 40, buyers: 40 }])
  }, 300_000)
})
