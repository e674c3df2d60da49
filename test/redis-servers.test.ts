import { afterEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { Playground } from './harness/playground.ts'
import { caughtUp, promote, startRedis, startReplica } from './harness/redis.ts'
import { Relay } from './harness/relay.ts'
import { until } from './harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('a killed Redis comes back on the same port with all that it had answered, as another run', async () => {
  const redis = await startRedis(playground)
  for (let i = 0; i < 50; i++) await redis.command('RPUSH', 'told', String(i))
  const first = { run: await redis.info('run_id'), pid: redis.pid }
  await redis.kill()
  await expect(redis.command('PING')).rejects.toThrow()
  await redis.start()
  expect(await redis.command('LLEN', 'told')).toBe(50)
  expect(await redis.info('run_id')).not.toBe(first.run)
  expect(redis.pid).not.toBe(first.pid)
})

test('a replica that was cut off lacks what the primary said since, and is another history once promoted', async () => {
  const primary = await startRedis(playground)
  const wire = await Relay.start(playground, { port: primary.port })
  const replica = await startReplica(playground, primary, { via: wire.port() })
  await primary.command('SET', 'left', '10')
  await caughtUp(primary, replica)

  wire.cut()
  await until('the replica to notice', async () => (await replica.info('master_link_status')) === 'down')
  await primary.command('SET', 'left', '3')
  await primary.kill()
  const shared = await replica.info('master_replid')
  await promote(replica)
  expect(await replica.command('GET', 'left')).toBe('10')
  expect(await replica.info('role')).toBe('master')
  expect(await replica.info('master_replid')).not.toBe(shared)
})

test('settings of the test win, and a refusal is an error in its own words', async () => {
  const redis = await startRedis(playground, {
    config: ['maxmemory 3mb', 'maxmemory-policy allkeys-lru', 'appendonly no'],
  })
  expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'allkeys-lru'])
  expect(await redis.command('CONFIG', 'GET', 'appendfsync')).toEqual(['appendfsync', 'always'])
  await expect(redis.command('NONSENSE')).rejects.toThrow(/unknown command/)
})

test('nothing of a Redis is left when the playground is undone, not even of a stopped one', async () => {
  const own = new Playground()
  const redis = await startRedis(own)
  const { pid, dir } = redis
  process.kill(pid, 'SIGSTOP')
  await own.undo()
  expect(() => process.kill(pid, 0)).toThrow()
  expect(existsSync(dir)).toBe(false)
})
