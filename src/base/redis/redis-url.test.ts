import { expect, test } from 'bun:test'
import { parseRedisUrl } from './redis-url.ts'

const plain = { tls: false, username: undefined, password: undefined, database: 0 }

test('one server, with everything an address can say', () => {
  expect(parseRedisUrl('redis://host')).toEqual({ kind: 'single', server: { ...plain, host: 'host', port: 6379 } })
  expect(parseRedisUrl('rediss://me:a%40b@[::1]:7000/3')).toEqual({
    kind: 'single',
    server: { host: '::1', port: 7000, tls: true, username: 'me', password: 'a@b', database: 3 },
  })
})

test('sentinels: who names the primary, its name, and two sorts of passwords that are not mixed up', () => {
  expect(parseRedisUrl('redis-sentinel://me:x%2Fy@a:1,b/till.1?sentinelPassword=p%3Dq')).toEqual({
    kind: 'sentinel',
    name: 'till.1',
    sentinels: [
      { ...plain, host: 'a', port: 1, password: 'p=q' },
      { ...plain, host: 'b', port: 26_379, password: 'p=q' },
    ],
    server: { ...plain, host: 'primary', port: 6379, username: 'me', password: 'x/y' },
  })
})

test('a cluster: some of its nodes, and one password for all', () => {
  expect(parseRedisUrl('redis-cluster://:p@a:7000,[::1]:7001')).toEqual({
    kind: 'cluster',
    seeds: [
      { ...plain, host: 'a', port: 7000, password: 'p' },
      { ...plain, host: '::1', port: 7001, password: 'p' },
    ],
  })
})

test('what is none of them is said in one line, without a word of the address', () => {
  for (const text of [
    '',
    ':secret',
    'http://:secret@x',
    'redis://:secret@',
    'redis://:secret@x/y',
    'redis://:secret%zz@x',
    'redis-cluster://:secret@',
    'redis-cluster://:secret@a:1,,b:2',
    'redis-cluster://:secret@a:1/2',
    'redis-cluster://:secret@a:1?x=secret',
    'redis-cluster://:secret@a:99999',
    'redis-sentinel://:secret@a:1',
    'redis-sentinel://:secret@a:1/',
    'redis-sentinel://:secret@a:1/name?sentinelpass=secret',
    'redis-sentinel://:secret@a:1/name#secret',
    'rediss-cluster://:secret@a:1',
    `redis-cluster://${'a:1,'.repeat(200)}a:1`,
  ]) {
    const thrown = (() => {
      try {
        return JSON.stringify(parseRedisUrl(text))
      } catch (error) {
        return error
      }
    })()
    expect([text, thrown]).toEqual([text, expect.any(Error)])
    expect(String(thrown)).not.toContain('secret')
    expect(String(thrown)).not.toContain('\n')
  }
})
