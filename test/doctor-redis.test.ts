import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import pg from 'pg'
import { Playground } from './harness/playground.ts'
import { startPostgres } from './harness/postgres.ts'
import { PROGRAM } from './harness/program.ts'
import { startRedis, startReplica } from './harness/redis.ts'
import { until } from './harness/until.ts'

const ROOT = resolve(import.meta.dirname, '..')
const house = new Playground()
const playground = new Playground()
afterEach(() => playground.undo())
afterAll(() => house.undo())

let databaseUrl = ''
beforeAll(async () => {
  databaseUrl = (await startPostgres(house)).url()
})

interface Report {
  readonly healthy: boolean
  readonly findings: readonly { what: string; state: string; found: string; advice?: string }[]
}

function doctor(redisUrl: string, env: Readonly<Record<string, string>> = {}) {
  const { stdout, stderr } = spawnSync(process.execPath, [PROGRAM, 'doctor', '--json'], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 60_000,
    env: {
      PATH: process.env.PATH,
      DATA_DIR: playground.dataDir(),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      ADMIN_TOKEN: 'admin-token-of-the-doctor-tests',
      TICKET_KEYS: 'a:ticket-key-of-the-doctor-tests-0123',
      BUYER_JWT_SECRET: 'buyer-secret-of-the-doctor-tests-0123',
      ...env,
    },
  })
  if (stdout === '') throw new Error(stderr)
  const report = JSON.parse(stdout) as Report
  return { ...report, of: (what: string) => report.findings.find(finding => finding.what === what) }
}

test('a Redis that is set as it must be is healthy, and the doctor says how it is set', async () => {
  const redis = await startRedis(playground)
  const report = doctor(redis.url)
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
    found: expect.stringMatching(/^up to \d+; 0 processes run now, each takes up to 10, a keeper one more$/),
  })
  expect(report.healthy).toBe(true)
})

test('a Redis that would lose or throw away reservations is not, each with what to do', async () => {
  const redis = await startRedis(playground, { config: ['appendfsync everysec', 'maxmemory-policy allkeys-lru'] })
  const report = doctor(redis.url)
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
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('CREATE TABLE nodes (id int, lease_until timestamptz)')
    await client.query("INSERT INTO nodes SELECT n, now() + interval '1 minute' FROM generate_series(1, 60) n")
    await client.query("INSERT INTO nodes SELECT n, now() - interval '1 minute' FROM generate_series(1, 60) n")
    const { state, found, advice } = doctor(redis.url).of('connections') ?? {}
    expect(state).toBe('odd')
    expect(found).toContain('60 processes run now, each takes up to 10')
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
  const report = doctor(primary.url, env)
  expect(report.of('Redis replicas')).toMatchObject({ state: 'good', found: '1 online' })
  expect(report.of('Redis durability')).toMatchObject({
    state: 'odd',
    advice: expect.stringContaining('appendonly yes'),
  })
  const two = doctor(primary.url, { ...env, REDIS_REPLICAS: '2' })
  expect(two.of('Redis replicas')?.state).toBe('bad')
  expect(two.of('Redis durability')?.advice).toContain('min-replicas-to-write 2')
})

test('a Redis that is not there is said to be, without the password of its address', async () => {
  const redis = await startRedis(playground)
  await redis.stop()
  const report = doctor(redis.url.replace('//', '//user:secret-password@'))
  expect(report.of('Redis')).toMatchObject({ state: 'bad', advice: expect.stringContaining('REDIS_URL') })
  expect(JSON.stringify(report.findings)).not.toContain('secret-password')
})
