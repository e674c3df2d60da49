import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { seededRandom } from '../../base/random.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { scriptsIn } from '../../base/redis/script.ts'
import { PARTITIONS, type SharedAsk } from '../shared-counts.ts'
import { createRedisSharedCounts } from './redis-shared-counts.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const RATE = { count: 10, windowMs: 60_000 }
const BUCKET = { count: 60_000, windowMs: 60_000, burst: 10 }
const HOT = 10_000
const idOf = (n: number) => n.toString(16).padStart(16, '0')
const asking = (wish: Partial<SharedAsk> = {}): SharedAsk => ({
  limit: 'orders-per-address',
  id: idOf(7),
  rate: RATE,
  want: 1,
  edges: 2,
  kept: 2,
  late: 0,
  joins: [],
  ...wish,
})

async function edgesOn(server: RedisServer, count: number, nowMs?: () => number) {
  const connection = await connect(playground, server.url)
  const edges = Array.from({ length: count }, (_, n) =>
    createRedisSharedCounts({ connection, random: seededRandom(n), ...(nowMs !== undefined && { nowMs }) }),
  )
  return { connection, edges }
}

test('another edge is called when a key is new and when it is waited for, and never by itself', async () => {
  const server = await startRedis(playground)
  const { edges } = await edgesOn(server, 2)
  const heard: string[] = []
  for (const [n, edge] of edges.entries()) edge.onJoinRequest((limit, id) => heard.push(`${n} hears ${limit} ${id}`))
  await until('both to listen', async () => {
    const [, count] = (await server.command('PUBSUB', 'NUMSUB', 'stampede:0:limits')) as unknown[]
    return Number(count) === 1
  })
  for (const text of ['', 'nonsense', 'ff rate:{0}:x:window:zz', `ff rate:{0}:A:window:${idOf(1)}`, 'ff  '])
    await server.command('PUBLISH', 'stampede:0:limits', text)
  const [first] = edges
  expect(await first!.ask([asking()])).toEqual([{ granted: 1, rest: 'none', untilMs: expect.any(Number) }])
  await until('a call', () => heard.length === 1)
  expect(await first!.ask([asking({ want: 3, joins: undefined })])).toMatchObject([{ granted: 3, rest: 'none' }])
  expect(await first!.ask([asking({ want: 9 })])).toMatchObject([{ granted: 4, rest: 'waits' }])
  await until('another call', () => heard.length === 2)
  expect(heard).toEqual(Array.from({ length: 2 }, () => `1 hears orders-per-address ${idOf(7)}`))
})

test('windows and buckets of many keys are decided in one batch, each for itself', async () => {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const { edges } = await edgesOn(server, 1)
  const asks = Array.from({ length: 700 }, (_, n) =>
    asking({ id: idOf(n), rate: n % 2 === 0 ? RATE : BUCKET, want: 1 + (n % 20), edges: 1 }),
  )
  const answers = await edges[0]!.ask(asks)
  expect(answers.map(answer => answer?.granted)).toEqual(asks.map(({ want }) => Math.min(10, want)))
})

test('the largest limit that can be configured, all of it at once', async () => {
  const server = await startRedis(playground)
  const { edges } = await edgesOn(server, 1)
  const most = 1_000_000_000
  const window = asking({ rate: { count: most, windowMs: 60_000 }, want: most, edges: 1 })
  const bucket = asking({ id: idOf(8), rate: { count: most, windowMs: 1_000, burst: most }, want: most, edges: 1 })
  expect(await edges[0]!.ask([window, bucket])).toMatchObject([{ granted: most }, { granted: most }])
  expect(await edges[0]!.ask([{ ...window, joins: [{ ageMs: 1, units: most }], want: 1 }])).toMatchObject([
    { granted: 0, rest: 'full' },
  ])
})

test('only hashes are kept, and nothing for ever', async () => {
  const server = await startRedis(playground)
  const { edges } = await edgesOn(server, 1)
  // One that takes as long as the window to be full again: a quick one would be gone before it is looked at.
  const slow = { ...BUCKET, count: 10 }
  await edges[0]!.ask([asking(), asking({ rate: slow, id: idOf(8) })])
  await edges[0]!.announce()
  const keys = (await server.command('KEYS', '*')) as string[]
  expect(keys).toHaveLength(PARTITIONS + 2)
  for (const key of keys) {
    expect(key).toMatch(/^rate:\{[0-9a-f]\}:(edges|orders-per-address:(window|bucket):[0-9a-f]{16})$/)
    const lifeMs = Number(await server.command('PTTL', key))
    expect(lifeMs).toBeGreaterThan(0)
    expect(lifeMs).toBeLessThanOrEqual(RATE.windowMs + 2_000)
  }
})

test('edges are counted while they say that they are here, and not when they left or fell silent', async () => {
  const server = await startRedis(playground)
  const time = { nowMs: 1_800_000_000_000 }
  const { edges } = await edgesOn(server, 3, () => time.nowMs)
  const lanes = (here: number) => Array.from({ length: PARTITIONS }, () => here)
  expect(await edges[0]!.announce()).toEqual(lanes(1))
  expect(await edges[1]!.announce()).toEqual(lanes(2))
  time.nowMs += 2_000
  expect(await edges[2]!.announce()).toEqual(lanes(3))
  await edges[2]!.leave()
  expect(await edges[1]!.announce()).toEqual(lanes(2))
  time.nowMs += 1_000
  expect(await edges[1]!.announce()).toEqual(lanes(1))
  // A clock that was set back: who spoke in the future is not here.
  time.nowMs -= 3_600_000
  expect(await edges[0]!.announce()).toEqual(lanes(1))
})

test('edges learn what limits the others have, while these say so', async () => {
  const server = await startRedis(playground)
  const time = { nowMs: 1_800_000_000_000 }
  const { connection, edges } = await edgesOn(server, 3, () => time.nowMs)
  const seen = async (edge: number, limits: string) =>
    (await edges[edge]!.compare(limits))?.toSorted((a, b) => b.edges - a.edges)
  expect(await seen(0, '')).toEqual([{ limits: '', edges: 1 }])
  await seen(1, 'orders-total=9/1s burst 3')
  time.nowMs += 2_000
  expect(await seen(2, 'orders-total=9/1s burst 3')).toEqual([
    { limits: 'orders-total=9/1s burst 3', edges: 2 },
    { limits: '', edges: 1 },
  ])
  time.nowMs += 1_000
  expect(await seen(2, 'orders-total=9/1s burst 3')).toEqual([{ limits: 'orders-total=9/1s burst 3', edges: 1 }])
  const compare = scriptsIn(new URL('./scripts/', import.meta.url))('compare', 'grows')
  for (const args of [[], ['0', 'ff', '1', 'x'.repeat(1_025)], ['0', 'no hex', '1', '']])
    await expect(connection.run(compare, ['k'], args)).rejects.toMatchObject({ name: 'Bug' })
  await server.kill()
  expect(await edges[0]!.compare('')).toBeUndefined()
})

test('a clock that is set back does not shut a key', async () => {
  const server = await startRedis(playground)
  const time = { nowMs: 1_800_000_000_000 }
  const { edges } = await edgesOn(server, 1, () => time.nowMs)
  const all = asking({ want: 10, edges: 1 })
  expect(await edges[0]!.ask([all])).toMatchObject([{ granted: 10 }])
  time.nowMs -= 500
  expect(await edges[0]!.ask([all])).toMatchObject([{ granted: 0, rest: 'full' }])
  time.nowMs -= 3_600_000
  expect(await edges[0]!.ask([all])).toMatchObject([{ granted: 10 }])
})

test('a question without an answer is undefined: Redis is away, and Redis is full', async () => {
  const server = await startRedis(playground)
  const { edges } = await edgesOn(server, 1)
  await server.command('CONFIG', 'SET', 'maxmemory', '1')
  expect(await edges[0]!.ask([asking(), asking({ rate: BUCKET })])).toEqual([undefined, undefined])
  await server.kill()
  expect(await edges[0]!.ask([asking()])).toEqual([undefined])
  expect(await edges[0]!.announce()).toEqual(Array.from({ length: PARTITIONS }, () => undefined))
  await edges[0]!.leave()
})

test('invalid arguments are refused before the first write', async () => {
  const server = await startRedis(playground)
  const { connection } = await edgesOn(server, 1)
  const read = scriptsIn(new URL('./scripts/', import.meta.url))
  const admit = read('admit', 'grows')
  const argsOf = (burst: string) => [
    '0',
    'ab',
    'stampede:0:limits',
    '10',
    '1000',
    burst,
    '2',
    '1',
    '1',
    '0',
    '1',
    '0',
    '1',
  ]
  for (const right of [argsOf('0'), argsOf('5')]) {
    const wrong: (readonly string[])[] = [[], right.slice(0, -1), [...right, '1'], right.with(5, '11')]
    for (const at of right.keys()) for (const value of ['', 'x y', '-2', '1.5']) wrong.push(right.with(at, value))
    for (const at of [0, ...Array.from(right.keys()).slice(3)])
      for (const value of ['1e3', '9999999999999999', '99999999999999999999']) wrong.push(right.with(at, value))
    for (const args of wrong) await expect(connection.run(admit, ['k'], args)).rejects.toMatchObject({ name: 'Bug' })
    await expect(connection.run(admit, [], right)).rejects.toMatchObject({ name: 'Bug' })
  }
  const announce = read('announce', 'grows')
  for (const args of [[], ['0', 'ab', '0'], ['0', 'x y', '5'], ['-1', 'ab', '5'], ['0', 'ab', '5', '5']])
    await expect(connection.run(announce, ['k'], args)).rejects.toMatchObject({ name: 'Bug' })
  expect(await server.command('DBSIZE')).toBe(0)
  await connection.run(admit, ['k'], argsOf('5'))
  expect(await server.command('DBSIZE')).toBe(1)
})

test('a hundred thousand hot addresses would be a few dozen megabytes', async () => {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const { edges } = await edgesOn(server, 4)
  const rate = { count: 100, windowMs: 60_000 }
  const before = Number(await server.info('used_memory'))
  const joins = Array.from({ length: 4 }, (_, n) => ({ ageMs: n * 50, units: 3 }))
  for (let from = 0; from < HOT; from += 500) {
    const asks = Array.from({ length: 500 }, (_, n) => asking({ id: idOf(from + n), rate, edges: 4, kept: 12, joins }))
    await Promise.all(edges.map(edge => edge.ask(asks)))
  }
  const each = (Number(await server.info('used_memory')) - before) / HOT
  console.log(
    `a hot address that four edges have joined: ${Math.round(each)} bytes; 100,000: ${Math.round(each / 10)} MB`,
  )
  expect(each).toBeLessThan(600)
}, 300_000)
