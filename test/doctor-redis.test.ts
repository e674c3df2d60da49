import { afterEach, expect, test } from 'bun:test'
import pg from 'pg'
import { startDoctor } from './harness/doctor.ts'
import { Playground } from './harness/playground.ts'
import { startRedis, startReplica } from './harness/redis.ts'
import { until } from './harness/until.ts'

const { examine, databaseUrl } = startDoctor()
const playground = new Playground()
afterEach(() => playground.undo())

test('a Redis that is set as it must be is healthy, and the doctor says how it is set', async () => {
  const redis = await startRedis(playground)
  const report = examine(redis.url)
  expect(report.of('settings')?.found).toContain('gate in Redis')
  expect(report.of('Redis')).toMatchObject({
    state: 'good',
    found: expect.stringMatching(/^\d+\.\d+\.\d+, a primary$/),
  })
  expect(report.of('Redis durability')).toMatchObject({
    state: 'good',
    found: 'disk: appendonly yes, appendfsync always',
  })
  expect(report.of('Redis memory')).toMatchObject({ state: 'good', found: 'no limit, noeviction' })
  expect(report.of('Redis clock')?.state).toBe('good')
  expect(report.of('connections')).toMatchObject({
    state: 'good',
    found: expect.stringMatching(/^up to \d+; 0 processes run now, each takes up to 12, a keeper one more$/),
  })
  expect(report.healthy).toBe(true)
})

test('a Redis that would lose or throw away reservations is not, each with what to do', async () => {
  const redis = await startRedis(playground, { config: ['appendfsync everysec', 'maxmemory-policy allkeys-lru'] })
  const report = examine(redis.url)
  expect(report.healthy).toBe(false)
  expect(report.of('Redis durability')).toMatchObject({
    state: 'bad',
    advice: expect.stringContaining('appendfsync always'),
  })
  expect(report.of('Redis memory')).toMatchObject({ state: 'bad', advice: expect.stringContaining('noeviction') })
  expect(report.of('Redis')?.state).toBe('good')
})

test('a PostgreSQL with too few connections for the processes that run is named, and what each of them takes', async () => {
  const redis = await startRedis(playground)
  const client = new pg.Client({ connectionString: databaseUrl() })
  await client.connect()
  try {
    await client.query('CREATE TABLE nodes (id int, lease_until timestamptz)')
    await client.query("INSERT INTO nodes SELECT n, now() + interval '1 minute' FROM generate_series(1, 60) n")
    await client.query("INSERT INTO nodes SELECT n, now() - interval '1 minute' FROM generate_series(1, 60) n")
    const { state, found, advice } = examine(redis.url).of('connections') ?? {}
    expect(state).toBe('odd')
    expect(found).toContain('60 processes run now, each takes up to 12')
    expect(advice).toContain('max_connections')
  } finally {
    await client.query('DROP TABLE nodes')
    await client.end()
  }
})

test('with replicas: how many follow, and whether the primary stops without them', async () => {
  const primary = await startRedis(playground, { config: ['min-replicas-to-write 1', 'appendonly no'] })
  await startReplica(playground, primary)
  // A replica that has everything is counted by its primary a moment later.
  const counted = async () => String(await primary.command('INFO', 'replication')).includes('state=online')
  await until('a replica that its primary counts', counted)
  const env = { REDIS_DURABILITY: 'replica' }
  const report = examine(primary.url, env)
  expect(report.of('Redis replicas')).toMatchObject({ state: 'good', found: '1 online' })
  expect(report.of('Redis durability')).toMatchObject({
    state: 'odd',
    advice: expect.stringContaining('appendonly yes'),
  })
  const two = examine(primary.url, { ...env, REDIS_REPLICAS: '2' })
  expect(two.of('Redis replicas')?.state).toBe('bad')
  expect(two.of('Redis durability')?.advice).toContain('min-replicas-to-write 2')
})

test('a Redis that is not there is said to be, without the password of its address', async () => {
  const redis = await startRedis(playground)
  await redis.stop()
  const report = examine(redis.url.replace('//', '//user:secret-password@'))
  expect(report.of('Redis')).toMatchObject({ state: 'bad', advice: expect.stringContaining('REDIS_URL') })
  expect(JSON.stringify(report.findings)).not.toContain('secret-password')
})
