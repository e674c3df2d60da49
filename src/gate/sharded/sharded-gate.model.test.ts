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
import { createShards } from '../shards.ts'
import { createShardedGate } from './sharded-gate.ts'
import { createShardedOutbox } from './sharded-outbox.ts'

const SHARDS = 3

const playground = new Playground()
afterAll(() => playground.undo())
const shards = createShards()
let connection: RedisConnection | undefined

gateModel('sharded gate', {
  seed: Number(process.env.SEED ?? Math.floor(systemRandom.next() * 2 ** 31)),
  lives: 250,
  stepsMax: 40,
  meets: ['wait', 'taken', 'given'],
  async begin(life) {
    connection ??= await connect(playground, (await startRedis(playground, { config: ['appendonly no'] })).url)
    let offsetMs = 0
    const places = createRedisGate({ connection, clockOffsetMs: () => offsetMs })
    const gate = createShardedGate({ gate: places, shards, clock: systemClock, freshMs: Number.POSITIVE_INFINITY })
    const { nowMs } = await gate.status([])
    const item = String(life)
    const learn = (epoch: number, gateShards: number) => shards.learn(item, { shards: SHARDS, epoch, gateShards })
    const moveClock = (ms: number) => {
      offsetMs += ms
    }
    return { item, gate, several: { count: SHARDS, mover: gate, learn }, clock: 'runs', nowMs, moveClock }
  },
  async end({ item }, { queued }) {
    const outbox = createShardedOutbox({ outbox: createRedisOutbox({ connection: connection! }), shards })
    expect(await emptied(outbox, shards.all(item)!)).toEqual(queued)
    expect(await outbox.forget(item)).toBe(true)
    shards.forget(item)
    expect(await connection!.command(['KEYS', `{${item}[#}]*`])).toEqual([])
  },
})
