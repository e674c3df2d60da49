import { afterAll, expect } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { gateModel } from '../gate-model.contract.ts'
import { emptied } from '../redis/redis-gate.fixture.ts'
import { createRedisGate } from '../redis/redis-gate.ts'
import { createRedisOutbox } from '../redis/redis-outbox.ts'
import { createShardCounts } from './shard-counts.ts'
import { ShardedGate } from './sharded-gate.ts'
import { createShardedOutbox } from './sharded-outbox.ts'

const SHARDS = 3

const playground = new Playground()
afterAll(() => playground.undo())
const counts = createShardCounts()
let connection: RedisConnection | undefined

gateModel('sharded gate', {
  seed: Number(process.env.SEED ?? Math.floor(systemRandom.next() * 2 ** 31)),
  lives: 250,
  stepsMax: 40,
  meets: ['wait', 'taken', 'given'],
  async begin(life) {
    connection ??= await connect(playground, (await startRedis(playground, { config: ['appendonly no'] })).url)
    let offsetMs = 0
    const shardGate = createRedisGate({ connection, clockOffsetMs: () => offsetMs })
    const gate = new ShardedGate({ gate: shardGate, counts, clock: systemClock, freshMs: Number.POSITIVE_INFINITY })
    const { nowMs } = await gate.status([])
    const item = String(life)
    const learn = (epoch: number, gateShards: number) => counts.learn(item, { shards: SHARDS, epoch, gateShards })
    const moveClock = (ms: number) => {
      offsetMs += ms
    }
    return { item, gate, several: { count: SHARDS, shardGate, learn }, clock: 'runs', nowMs, moveClock }
  },
  async end({ item }, { queued }) {
    const outbox = createRedisOutbox({ connection: connection! })
    expect(await emptied(outbox, counts.all(item)!)).toEqual(queued)
    const gate = createRedisGate({ connection: connection! })
    expect(await createShardedOutbox({ outbox, gate, counts }).forget(item)).toBe(true)
    expect(counts.all(item)).toBeUndefined()
    expect(await connection!.command(['KEYS', `{${item}[#}]*`])).toEqual([])
  },
})
