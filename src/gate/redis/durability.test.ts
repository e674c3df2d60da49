import { afterEach, describe, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis, startReplica } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { Durability, RedisConnection } from '../../base/redis/connection.ts'
import { problemsOf, readFacts } from './durability.ts'

const playground = new Playground()
afterEach(() => playground.undo())

async function checkDurability(
  connection: RedisConnection,
  durability: Durability,
  replicas: number,
  unverified = false,
) {
  return problemsOf(await readFacts(connection), { kind: 'single', durability, replicas, unverified })
}

async function check(config: readonly string[], wanted: Durability, replicas = 1, unverified = false) {
  const redis = await startRedis(playground, { config })
  return checkDurability(await connect(playground, redis.url), wanted, replicas, unverified)
}

/** One line, that names the setting and says what to do. */
function oneLine(problems: readonly string[], ...texts: readonly string[]): void {
  expect(problems).toHaveLength(1)
  for (const text of texts) expect(problems[0]).toContain(text)
  expect(problems[0]).not.toContain('\n')
}

describe('E11, disk: what was acknowledged is on the disk of one server', () => {
  test('a server that is set for it is fine', async () => {
    expect(await check([], 'disk')).toEqual([])
    expect(await check(['maxmemory 100mb'], 'disk')).toEqual([])
  })

  test('a server that answers before its disk has it is refused, however that was set', async () => {
    oneLine(await check(['appendfsync everysec'], 'disk'), 'CONFIG SET appendfsync always', 'REDIS_DURABILITY')
    oneLine(await check(['appendfsync no'], 'disk'), 'appendfsync is no')
    oneLine(await check(['appendonly no'], 'disk'), 'CONFIG SET appendonly yes')
    oneLine(await check(['no-appendfsync-on-rewrite yes'], 'disk'), 'CONFIG SET no-appendfsync-on-rewrite no')
  })
})

describe('E11, replica: what was acknowledged is on so many replicas', () => {
  test('a primary that stops selling when nobody follows it, with enough replicas, is fine', async () => {
    const config = ['appendonly no', 'min-replicas-to-write 1']
    const primary = await startRedis(playground, { config })
    await startReplica(playground, primary)
    const connection = await connect(playground, primary.url)
    await until('the replica to be online', async () => (await checkDurability(connection, 'replica', 1)).length === 0)
    expect((await checkDurability(connection, 'replica', 2)).join('\n')).toMatch(/REDIS_REPLICAS=2, but 1 follow/)
  })

  test('a primary that would go on selling alone is refused, and so is one that nobody follows', async () => {
    const alone = await check([], 'replica')
    expect(alone).toHaveLength(2)
    expect(alone.join('\n')).toContain('0 follow the primary')
    expect(alone.join('\n')).toContain('CONFIG SET min-replicas-to-write 1')
    const lag = await check(['min-replicas-to-write 1', 'min-replicas-max-lag 0'], 'replica')
    expect(lag.join('\n')).toContain('CONFIG SET min-replicas-max-lag 10')
  })

  test('the replica itself is not where reservations are taken', async () => {
    const primary = await startRedis(playground)
    const replica = await startReplica(playground, primary)
    oneLine(await checkDurability(await connect(playground, replica.url), 'disk', 1), 'leads to a replica')
  })
})

describe('E11, memory: asked for by name', () => {
  test('needs no disk and no replica, but nothing may be thrown away', async () => {
    expect(await check(['appendonly no', 'appendfsync no'], 'memory')).toEqual([])
    oneLine(
      await check(['appendonly no', 'maxmemory-policy allkeys-lru'], 'memory'),
      'CONFIG SET maxmemory-policy noeviction',
    )
  })
})

test('a server that may throw reservations away is refused at every level, with a limit or without', async () => {
  for (const policy of ['volatile-lru', 'allkeys-random'])
    for (const more of [[], ['maxmemory 50mb']])
      oneLine(await check([`maxmemory-policy ${policy}`, ...more], 'disk'), `maxmemory-policy is ${policy}`)
})

describe('a server that does not show its settings', () => {
  const hiding = {
    'the command is renamed': ['rename-command CONFIG ""'],
    'our user may not': ['user default on nopass ~* &* +@all -config'],
  }
  for (const [how, config] of Object.entries(hiding)) {
    test(`${how}: what can't be verified is said, with the setting that answers for it`, async () => {
      oneLine(await check(config, 'disk'), 'appendfsync', 'REDIS_DURABILITY_UNVERIFIED=on')
      expect(await check(config, 'disk', 1, true)).toEqual([])
      expect(await check(config, 'memory')).toEqual([])
    })

    test(`${how}: what INFO tells is held against it all the same`, async () => {
      oneLine(await check([...config, 'appendonly no'], 'disk', 1, true), 'appendonly')
      oneLine(await check([...config, 'maxmemory-policy allkeys-lru'], 'memory', 1, true), 'noeviction')
    })
  }
})

describe('a server of another kind than its address says', () => {
  test('a node of a cluster behind a plain address is one line: what to write instead', async () => {
    oneLine(await check(['cluster-enabled yes'], 'disk'), 'redis-cluster://')
  })

  test('an ordinary server behind the address of a cluster too', async () => {
    const redis = await startRedis(playground)
    const facts = await readFacts(await connect(playground, redis.url))
    const stated = { durability: 'replica', replicas: 1, unverified: false } as const
    oneLine(problemsOf(facts, { ...stated, kind: 'cluster' }), 'no node of a cluster', 'redis://')
    // What sentinels name is an ordinary server.
    expect(problemsOf(facts, { ...stated, kind: 'sentinel' }).join('\n')).not.toContain('REDIS_URL')
  })
})
