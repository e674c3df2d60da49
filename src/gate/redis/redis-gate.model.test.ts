import { afterAll, expect } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { systemRandom } from '../../base/random.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import { gateModel } from '../gate-model.contract.ts'
import { emptied } from './redis-gate.fixture.ts'
import { createRedisGate } from './redis-gate.ts'
import { createRedisOutbox } from './redis-outbox.ts'

const playground = new Playground()
afterAll(() => playground.undo())
let connection: RedisConnection | undefined

gateModel('redis gate', {
  seed: Number(process.env.SEED ?? Math.floor(systemRandom.next() * 2 ** 31)),
  lives: 250,
  stepsMax: 40,
  async begin(life) {
    connection ??= await connect(playground, (await startRedis(playground, { config: ['appendonly no'] })).url)
    let offsetMs = 0
    const gate = createRedisGate({ connection, clockOffsetMs: () => offsetMs })
    const { nowMs } = await gate.status([])
    const moveClock = (ms: number) => {
      offsetMs += ms
    }
    return { item: String(life), gate, clock: 'runs', nowMs, moveClock }
  },
  async end({ item }, { queued }) {
    const outbox = createRedisOutbox({ connection: connection! })
    expect(await emptied(outbox, [item])).toEqual(queued)
    expect(await outbox.forget(item)).toBe(true)
    expect(await connection!.command(['KEYS', `{${item}[#}]*`])).toEqual([])
  },
})
