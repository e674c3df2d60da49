import { expect, test } from 'bun:test'
import { describeConfig, readConfig } from './config.ts'

const CLUSTER = {
  DATABASE_URL: 'postgres://db/stampede',
  ADMIN_TOKEN: 'a'.repeat(20),
  TICKET_KEYS: `k:${'x'.repeat(40)}`,
  BUYER_JWT_SECRET: 'b'.repeat(32),
}

test('every kind of Redis address is taken, and its passwords are not shown', () => {
  for (const REDIS_URL of [
    'redis://:secret@host:6379/0',
    'redis-sentinel://:secret@a:26379,b:26379/name?sentinelPassword=secret',
    'redis-cluster://user:secret@a:6379,b:6379',
  ]) {
    const config = readConfig({ ...CLUSTER, REDIS_URL, REDIS_DURABILITY: 'replica' })
    expect(config.redis).toMatchObject({ url: REDIS_URL, durability: 'replica', replicas: 1 })
    expect(JSON.stringify(describeConfig(config))).not.toContain('secret')
  }
})

test('an address that is none is one line, without what may be a password', () => {
  for (const REDIS_URL of ['redis-sentinel://:secret@a:26379', 'tcp://:secret@a:1', 'redis-cluster://:secret@a:1/4'])
    expect(() => readConfig({ ...CLUSTER, REDIS_URL, REDIS_DURABILITY: 'replica' })).toThrow(/^REDIS_URL: [^\n]+$/)
  for (const REDIS_URL of ['redis-sentinel://:secret@a:26379', 'tcp://:secret@a:1'])
    expect(() => readConfig({ ...CLUSTER, REDIS_URL })).not.toThrow(/secret/)
})

test('E11: what can be failed over needs replicas; the disk of one server is not enough, and memory must be asked for', () => {
  for (const REDIS_URL of ['redis-sentinel://a:1/name', 'redis-cluster://a:1']) {
    for (const wish of [{}, { REDIS_DURABILITY: 'disk' }])
      expect(() => readConfig({ ...CLUSTER, REDIS_URL, ...wish })).toThrow(
        /^REDIS_DURABILITY=disk [^\n]*REDIS_DURABILITY=replica[^\n]*min-replicas-to-write[^\n]*$/,
      )
    expect(readConfig({ ...CLUSTER, REDIS_URL, REDIS_DURABILITY: 'memory' }).redis?.durability).toBe('memory')
  }
  expect(readConfig({ ...CLUSTER, REDIS_URL: 'redis://a:1' }).redis?.durability).toBe('disk')
})
