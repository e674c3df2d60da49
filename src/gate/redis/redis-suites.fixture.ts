/** The gate's suite and its model on Redis. What differs between the runs is the number of shards, and whether it is one server or a cluster. */

import { afterAll, beforeAll, expect } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { RedisCluster } from '../../../test/harness/redis-cluster.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { type ConnectOptions, connect } from '../../base/redis/connection.fixture.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { gateContract } from '../gate.contract.ts'
import { gateModel } from '../gate-model.contract.ts'
import { MODEL_SEED } from '../gate-model.fixture.ts'
import { createShardCounts } from '../sharded/shard-counts.ts'
import { createSettlingGate, together } from '../sharded/sharded-gate.fixture.ts'
import { ShardedGate } from '../sharded/sharded-gate.ts'
import { createShardedOutbox } from '../sharded/sharded-outbox.ts'
import { emptied } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'
import { createRedisOutbox } from './redis-outbox.ts'

/** Half of it is the replicas': patient, on a machine that does other things too. */
export const REPLICA = { durability: 'replica', replicas: 1, timeoutMs: 20_000 } as const

interface Wish extends ConnectOptions {
  /** Undefined: the gate of single shards by itself. */
  readonly shards?: number
  /** Undefined: a server of its own. */
  readonly url?: () => string
}

/** One cluster for all tests of a file. A server may be stopped for as long as several calls wait for it; none takes over meanwhile. */
export function clusterForAll() {
  const playground = new Playground()
  let cluster: RedisCluster | undefined
  beforeAll(async () => {
    cluster = await RedisCluster.start(playground, { nodeTimeoutMs: 120_000 })
  }, 300_000)
  afterAll(() => playground.undo())
  return { playground, cluster: () => cluster! }
}

export function redisContract(name: string, { shards, url, ...options }: Wish = {}): void {
  gateContract(name, async () => {
    const own = new Playground()
    const connection = await connect(own, url?.() ?? (await startRedis(own)).url, options)
    const shardGate = new RedisGate(connection)
    const gate = shards === undefined ? shardGate : createSettlingGate(shardGate, shards)
    return {
      gate,
      untilClock: async nowMs => {
        await until(`the gate's clock at ${nowMs}`, async () => (await gate.status([])).nowMs >= nowMs)
      },
      together: (_, buyers) => (shards === undefined ? buyers : together(buyers, shards)),
      close: () => own.undo(),
    }
  })
}

export function redisModel(name: string, shards?: number): void {
  const playground = new Playground()
  afterAll(() => playground.undo())
  const counts = createShardCounts()
  let connection: RedisConnection | undefined

  gateModel(name, {
    seed: MODEL_SEED,
    lives: 250,
    stepsMax: 40,
    meets: shards === undefined ? [] : ['wait', 'taken', 'given'],
    async begin(life) {
      connection ??= await connect(playground, (await startRedis(playground, { config: ['appendonly no'] })).url)
      let offsetMs = 0
      const moveClock = (ms: number) => {
        offsetMs += ms
      }
      const shardGate = new RedisGate(connection, () => offsetMs)
      const { nowMs } = await shardGate.status([])
      const subject = { item: String(life), clock: 'runs', nowMs, moveClock } as const
      if (shards === undefined) return { ...subject, gate: shardGate }
      const learn = (epoch: number, gateShards: number) => counts.learn(subject.item, { shards, epoch, gateShards })
      const freshMs = Number.POSITIVE_INFINITY
      const gate = new ShardedGate(shardGate, counts, systemClock, freshMs)
      return { ...subject, gate, several: { count: shards, shardGate, learn } }
    },
    async end({ item }, { queued }) {
      const outbox = createRedisOutbox(connection!)
      const gate = new RedisGate(connection!)
      expect(await emptied(outbox, counts.all(item) ?? [item])).toEqual(queued)
      expect(await (shards === undefined ? outbox : createShardedOutbox(outbox, gate, counts)).forget(item)).toBe(true)
      expect(counts.all(item)).toBeUndefined()
      expect(await connection!.command(['KEYS', `{${item}[#}]*`])).toEqual([])
    },
  })
}
