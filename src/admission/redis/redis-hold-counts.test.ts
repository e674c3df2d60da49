import { afterAll, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { systemClock } from '../../base/clock.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { holdCountsSuite } from '../holds/hold-counts.contract.ts'
import { createRedisHoldCounts } from './redis-hold-counts.ts'

const playground = new Playground()
afterAll(() => playground.undo())

let server: ReturnType<typeof startRedis> | undefined
async function redis() {
  server ??= startRedis(playground, { config: ['appendonly no'] })
  return server
}

holdCountsSuite('on Redis', async () => {
  const connection = await connect(playground, (await redis()).url)
  const time = { nowMs: 1_800_000_000_000 }
  // However slow this machine is: without an answer the caller decides alone, which the suite does not mean.
  const clock = { ...systemClock, elapsed: () => 0, sleep: () => new Promise<void>(() => {}) }
  return { counts: createRedisHoldCounts({ connection, clock, nowMs: () => time.nowMs }), time }
})

test('edges whose clocks are hours apart count the same holds, by the clock of Redis, and keys end by themselves', async () => {
  const { url } = await redis()
  const [one, two] = await Promise.all([connect(playground, url), connect(playground, url)])
  const clockOf = (aheadMs: number) => ({ ...systemClock, now: () => systemClock.now() + aheadMs })
  const early = createRedisHoldCounts({ connection: one!, clock: clockOf(-7_200_000) })
  const late = createRedisHoldCounts({ connection: two!, clock: clockOf(7_200_000) })
  await early.load('77', [])
  const hold = (id: string) => ({ id, units: 1, keys: ['net'], forMs: 60_000 })
  expect(await early.take('77', hold('a'), [2])).toEqual({ kind: 'taken' })
  expect(await late.take('77', hold('b'), [2])).toEqual({ kind: 'taken' })
  expect(await early.take('77', hold('c'), [2])).toEqual({ kind: 'full', at: 0 })
  expect(await late.take('77', hold('a'), [2])).toEqual({ kind: 'taken' })
  for (const what of ['used', 'of', 'ends', 'read']) {
    const left = Number(await one!.command(['PTTL', `holds:{77}:${what}`]))
    expect(left).toBeGreaterThan(60_000)
    expect(left).toBeLessThanOrEqual(86_460_000)
  }
})

test('nothing is decided by a Redis that is away, and a Redis that lost its counts has them read again', async () => {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const connection = await connect(playground, server.url)
  const counts = createRedisHoldCounts({ connection, clock: systemClock })
  const hold = { id: 'a', units: 1, keys: ['net'], forMs: 60_000 }
  expect(await counts.load('1', [hold])).toBe(true)
  await connection.command(['FLUSHALL'])
  expect(await counts.take('1', hold, [1])).toEqual({ kind: 'unread' })
  await server.stop()
  expect(await counts.take('1', hold, [1])).toBeUndefined()
  expect(await counts.load('1', [hold])).toBe(false)
  await counts.keep('1', ['a'], 0)
})

test('a script refuses arguments that would break its books, and writes nothing', async () => {
  const connection = await connect(playground, (await redis()).url)
  const counts = createRedisHoldCounts({ connection, clock: systemClock })
  await counts.load('5', [])
  const good = { id: 'a', units: 1, keys: ['net'], forMs: 1_000 }
  const bad = [{ id: 'a|b' }, { units: 0 }, { units: 1.5 }, { forMs: 0 }, { keys: ['a|b'] }, { keys: [''] }]
  for (const wrong of bad) await expect(counts.take('5', { ...good, ...wrong }, [5])).rejects.toThrow('BUG')
  expect(await connection.command(['HLEN', 'holds:{5}:of'])).toBe(0)
})
