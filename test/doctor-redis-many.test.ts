import { afterAll, expect, test } from 'bun:test'
import { startDoctor } from './harness/doctor.ts'
import { Playground } from './harness/playground.ts'
import type { RedisServer } from './harness/redis.ts'
import { RedisCluster } from './harness/redis-cluster.ts'
import { WatchedRedis } from './harness/redis-sentinel.ts'
import { until } from './harness/until.ts'

const SOON_MS = 120_000
const { examine } = startDoctor()
const playground = new Playground()
afterAll(() => playground.undo())

const doctor = (redisUrl: string) => examine(redisUrl, { REDIS_DURABILITY: 'replica' }).of

async function allSay(nodes: readonly RedisServer[], words: string): Promise<boolean> {
  const told = await Promise.all(nodes.map(node => node.command('CLUSTER', 'INFO')))
  return told.every(text => String(text).includes(words))
}

test('of a Redis Cluster every primary is examined, and slots that nobody has are counted', async () => {
  const cluster = await RedisCluster.start(playground)
  const [first, second, third] = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`)
  const well = doctor(cluster.url)
  expect(well('Redis Cluster')).toMatchObject({ state: 'good', found: '16384 of 16384 slots on 3 primaries' })
  for (const name of [first, second, third]) {
    expect(well(`Redis ${name}`)?.state).toBe('good')
    expect(well(`Redis durability ${name}`)?.state).toBe('good')
    expect(well(`Redis clock ${name}`)?.state).toBe('good')
  }
  await cluster.nodes[1]!.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  // Every node must forget it: what one node does not have, another may still call its own. A word of its owner that was under way
  // meanwhile brings it back, so it may have to forget it twice.
  await until('primaries that have forgotten the slot', async () => {
    for (const node of cluster.nodes.slice(0, 3)) await node.command('CLUSTER', 'DELSLOTS', '0').catch(() => {})
    return allSay(cluster.nodes.slice(0, 3), 'cluster_slots_ok:16383')
  })
  const ill = doctor(cluster.url)
  expect(ill('Redis Cluster')).toMatchObject({ state: 'bad', found: expect.stringContaining('16383 of 16384') })
  expect(ill(`Redis memory ${first}`)?.state).toBe('good')
  expect(ill(`Redis memory ${second}`)).toMatchObject({ state: 'bad', advice: expect.stringContaining('noeviction') })
}, 300_000)

test('of a Redis Cluster with a dead primary the others are examined all the same, and it is the dead one that is named', async () => {
  const cluster = await RedisCluster.start(playground)
  const [dead, second, third, heir, ...others] = cluster.nodes
  const living = [second!, third!, ...others]
  // Short for as long as it takes to notice: before and after, a busy machine must not make anybody else look dead.
  const timeout = async (ms: number) => {
    for (const node of living) await node.command('CONFIG', 'SET', 'cluster-node-timeout', String(ms))
  }
  // Nobody takes over: with an heir it would not be a primary any more.
  await heir!.kill()
  await dead!.kill()
  await timeout(1_500)
  const givenUp = () => allSay(living, 'cluster_slots_ok:10923')
  await until('the others to give it up', givenUp, SOON_MS)
  await timeout(15_000)
  await until('nobody else to be missed', givenUp, SOON_MS)
  const ill = doctor(cluster.url)
  expect(ill('Redis Cluster')).toMatchObject({ state: 'bad', found: expect.stringContaining('10923 of 16384') })
  expect(ill(`Redis 127.0.0.1:${dead!.port}`)).toMatchObject({
    state: 'bad',
    advice: expect.stringContaining('start it'),
  })
  for (const { port } of [second!, third!]) {
    expect(ill(`Redis 127.0.0.1:${port}`)?.state).toBe('good')
    expect(ill(`Redis replicas 127.0.0.1:${port}`)).toMatchObject({ state: 'good', found: '1 online' })
    expect(ill(`Redis clock 127.0.0.1:${port}`)?.state).toBe('good')
  }
  expect(ill('Redis')).toBeUndefined()
}, 300_000)

test('behind sentinels the primary is examined, and whether they could agree on another', async () => {
  const watched = await WatchedRedis.start(playground)
  const well = doctor(watched.url)
  expect(well('Redis Sentinel')).toMatchObject({ state: 'good', found: expect.stringContaining('3 usable') })
  expect(well('Redis')?.found).toContain('a primary')
  expect(well('Redis replicas')).toMatchObject({ state: 'good', found: '2 online' })
  await watched.sentinels[1]!.kill()
  await watched.sentinels[2]!.kill()
  await watched.sentinels[0]!.command('SENTINEL', 'SET', watched.name, 'down-after-milliseconds', '500')
  await watched.sentinelsDown(2)
  // A sentinel calls another well again for a moment while it tries to reach it.
  const ill = await until(
    'a doctor who hears of it',
    () => {
      const seen = doctor(watched.url)('Redis Sentinel')
      return seen?.state === 'bad' && seen.found.includes('NOQUORUM') ? seen : undefined
    },
    SOON_MS,
  )
  expect(ill.found).toMatch(/NOQUORUM/)
  expect(doctor(watched.url.replace('redis-sentinel', 'redis-cluster').replace('/till', ''))('Redis')).toMatchObject({
    state: 'bad',
    found: expect.stringContaining('redis-sentinel://'),
  })
}, 300_000)
