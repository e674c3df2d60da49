import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../test/harness/playground.ts'
import { startRedis } from '../../test/harness/redis.ts'
import { connectTo, watchDurability } from './compose-redis.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const SILENT = { debug() {}, info() {}, warn() {}, error() {} }

/** What a start on this Redis comes to, and what it hears later. */
async function start(url: string, connectMsMax?: number) {
  const stop = new AbortController()
  const redis = { url, durability: 'disk', replicas: 1, unverified: false } as const
  const connection = connectTo(redis, SILENT)
  playground.onUndo(async () => {
    stop.abort()
    await connection.close()
  })
  const wrong = Promise.withResolvers<unknown>()
  await watchDurability(redis, connection, SILENT, stop.signal, wrong.resolve, connectMsMax)
  return { connection, wrong: wrong.promise }
}

test('E11: a start on a Redis that does not keep what was stated goes no further', async () => {
  const lazy = await startRedis(playground, { config: ['appendfsync everysec'] })
  await expect(start(lazy.url)).rejects.toThrow(/appendfsync always/)
  const forgetful = await startRedis(playground, { config: ['maxmemory-policy allkeys-lru'] })
  await expect(start(forgetful.url)).rejects.toThrow(/noeviction/)
  await start((await startRedis(playground)).url)
})

test('a Redis that is away does not keep a process from starting, and is checked when it is back', async () => {
  const lazy = await startRedis(playground, { config: ['appendonly no'] })
  await lazy.stop()
  const { connection, wrong } = await start(lazy.url, 100)
  expect(connection.connected()).toBe(false)
  await lazy.start()
  expect(String(await wrong)).toMatch(/appendonly yes/)
})
