import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../test/harness/playground.ts'
import { startRedis, startReplica } from '../../test/harness/redis.ts'
import { RedisCluster } from '../../test/harness/redis-cluster.ts'
import { WatchedRedis } from '../../test/harness/redis-sentinel.ts'
import { until } from '../../test/harness/until.ts'
import { systemClock } from '../base/clock.ts'
import { scriptsIn } from '../base/redis/script.ts'
import { connectTo, examineRedis, watchDurability } from './compose-redis.ts'

const playground = new Playground()
afterEach(() => playground.undo())

/** A server is asked after half a second without a connection. Less than a connection is waited for: half a minute here, five seconds by the doctor. */
const AT_ONCE_MS_MAX = 20_000
const EXAMINED_MS_MAX = 4_000
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** Starts on this Redis: its connection, what it logs, and what it is told later. A slow machine has time to connect. */
async function start(url: string, connectMsMax = 30_000, durability: 'disk' | 'replica' = 'disk') {
  const stop = new AbortController()
  const redis = { url, durability, replicas: 1, unverified: false } as const
  const said: string[] = []
  const write = (fields: object, message: string) => void said.push(`${message} ${JSON.stringify(fields)}`)
  const log = { ...SILENT, info: write, warn: write }
  const connection = connectTo(redis, SILENT)
  playground.onUndo(async () => {
    stop.abort()
    await connection.close()
  })
  const wrong = Promise.withResolvers<unknown>()
  await watchDurability(redis, connection, log, stop.signal, wrong.resolve, connectMsMax)
  return { connection, wrong: wrong.promise, said }
}

test('E11: a Redis that does not keep what was stated stops the start', async () => {
  const lazy = await startRedis(playground, { config: ['appendfsync everysec'] })
  await expect(start(lazy.url)).rejects.toThrow(/appendfsync always/)
  const forgetful = await startRedis(playground, { config: ['maxmemory-policy allkeys-lru'] })
  await expect(start(forgetful.url)).rejects.toThrow(/noeviction/)
  await start((await startRedis(playground)).url)
})

test('a Redis that is away does not stop the start, and is checked when it is back', async () => {
  const lazy = await startRedis(playground, { config: ['appendonly no'] })
  await lazy.stop()
  const { connection, wrong } = await start(lazy.url, 100)
  expect(connection.connected()).toBe(false)
  await lazy.start()
  expect(String(await wrong)).toMatch(/appendonly yes/)
})

/** Any script: only whether it may run matters. */
const status = scriptsIn(new URL('../gate/redis/scripts/', import.meta.url))('status', 'reads')

test('E11: every primary of a cluster is checked at the start', async () => {
  const cluster = await RedisCluster.start(playground)
  await start(cluster.url, undefined, 'replica')
  const wrong = cluster.nodes[1]!
  await wrong.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  const refused = String(await start(cluster.url, undefined, 'replica').catch((error: unknown) => error))
  expect(refused).toContain(`127.0.0.1:${wrong.port}: REDIS_DURABILITY=replica`)
  expect(refused).toContain('min-replicas-to-write 1')
  for (const { port } of [cluster.nodes[0]!, cluster.nodes[2]!]) expect(refused).not.toContain(`127.0.0.1:${port}`)
}, 300_000)

test('E11: a server that takes over and is set wrong is not used until it is corrected, and ends no process', async () => {
  const watched = await WatchedRedis.start(playground)
  const first = await watched.primary()
  for (const server of watched.servers)
    if (server !== first) await server.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  const { connection, wrong } = await start(watched.url, undefined, 'replica')
  await connection.run(status, [], [0])
  // Refused for as long as it takes no replica for a good one.
  const begins = () => watched.sentinels[0]!.command('SENTINEL', 'FAILOVER', watched.name).catch(() => undefined)
  await until('a failover that begins', begins)
  const heir = await watched.failedOver(first)
  const refusal = () =>
    connection.run(status, [], [0]).then(
      () => 'none',
      (error: unknown) => String(error),
    )
  await until('it to be held', async () => (await refusal()).includes('min-replicas-to-write is 0'))
  expect(await Promise.race([wrong, 'nothing'])).toBe('nothing')
  await heir.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
  await until('it to be used again', async () => (await refusal()) === 'none')
}, 300_000)

test('E11: a primary whose replica is away does not stop the start; it is named, and used once a replica follows', async () => {
  const cluster = await RedisCluster.start(playground, { nodeTimeoutMs: 1_500 })
  const dead = cluster.nodes[0]!
  const slot = 0
  await dead.kill()
  const heir = await cluster.failedOver(slot, dead)
  const name = `127.0.0.1:${heir.port}`
  const { connection, wrong, said } = await start(cluster.url, undefined, 'replica')
  const about = (words: string) => said.filter(line => line.includes(words) && line.includes(name))
  expect(about('0 follow the primary')).toHaveLength(1)
  expect(connection.connected()).toBe(true)
  // What is set wrong still ends a start, with or without a replica.
  await heir.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  const refused = String(await start(cluster.url, undefined, 'replica').catch((error: unknown) => error))
  expect(refused).toStartWith('ConfigError')
  expect(refused).toContain(`${name}: REDIS_DURABILITY=replica, but a primary that nobody follows`)
  await heir.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
  await dead.start()
  await cluster.whole()
  await until('it to be in use', () => about('keeps REDIS_DURABILITY now').length === 1)
  expect(await Promise.race([wrong, 'nothing'])).toBe('nothing')
}, 300_000)

test('an address of one kind that leads to a server of another says at once what to write instead, also to the doctor', async () => {
  const plain = await startRedis(playground)
  const node = await startRedis(playground, { config: ['cluster-enabled yes'] })
  const watched = await WatchedRedis.start(playground)
  const sentinel = watched.sentinels[0]!.port
  for (const [url, durability, words] of [
    [`redis://127.0.0.1:${node.port}`, 'disk', 'set it to redis-cluster://'],
    [`redis://127.0.0.1:${sentinel}`, 'disk', 'set it to redis-sentinel://'],
    [`redis-cluster://127.0.0.1:${plain.port}`, 'replica', 'set it to redis://'],
    [`redis-cluster://127.0.0.1:${sentinel}`, 'replica', 'set it to redis-sentinel://'],
    [`redis-sentinel://127.0.0.1:${plain.port}/till`, 'replica', 'set it to redis://'],
    [`redis-sentinel://127.0.0.1:${node.port}/till`, 'replica', 'set it to redis-cluster://'],
  ] as const) {
    const fromMs = systemClock.elapsed()
    const refused = String(await start(url, undefined, durability).catch((error: unknown) => error))
    const tookMs = systemClock.elapsed() - fromMs
    expect([url, refused]).toEqual([url, expect.stringContaining(words)])
    expect(refused).toStartWith('ConfigError')
    expect(refused).not.toContain('\n')
    // A connection can never stand: it is not waited for.
    if (!url.startsWith('redis://')) expect(tookMs).toBeLessThan(AT_ONCE_MS_MAX)
    console.info(`${url.split(':')[0]}: refused after ${Math.round(tookMs)} ms`)
  }
  const fromMs = systemClock.elapsed()
  const redis = {
    url: `redis-cluster://127.0.0.1:${plain.port}`,
    durability: 'replica',
    replicas: 1,
    unverified: false,
  } as const
  await expect(examineRedis(redis, SILENT, async () => 'examined')).rejects.toThrow('set it to redis://')
  expect(systemClock.elapsed() - fromMs).toBeLessThan(EXAMINED_MS_MAX)
}, 300_000)

test('E11: a Redis whose replicas follow a moment after it does not end the processes that started while it was away', async () => {
  const primary = await startRedis(playground)
  await primary.stop()
  const { connection, wrong } = await start(primary.url, 100, 'replica')
  await primary.start()
  await until('a connection', () => connection.connected())
  // Longer than it takes to check it twice.
  expect(await Promise.race([wrong, systemClock.sleep(1_500).then(() => 'nothing')])).toBe('nothing')
  await startReplica(playground, primary)
  // With its replica it is held to its configuration, as it would have been at the start.
  const heard = String(await wrong)
  expect(heard).toContain('min-replicas-to-write')
  expect(heard).not.toContain('follow the primary')
}, 300_000)
