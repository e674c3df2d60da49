/** With many hot items every call is small: calls that are made at the same time must be one call of Redis, each with its own answer. */

import { afterEach, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { Bug } from '../assert.ts'
import { callTogether } from './calls-together.ts'
import { connect } from './connection.fixture.ts'
import { scriptsIn } from './script.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const COUNT = `-- count: adds to a counter
if ARGV[1] == 'wrong' then return bug('count: wrong arguments') end
local sum = redis.call('INCRBY', KEYS[1], ARGV[1])
if ARGV[2] then sum = sum * tonumber(ARGV[2]) end
return { sum, KEYS[1] }`

async function counter() {
  const folder = mkdtempSync(join(tmpdir(), 'stampede-scripts-'))
  playground.onUndo(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'lib.lua'), '')
  writeFileSync(join(folder, 'count.lua'), COUNT)
  const read = scriptsIn(pathToFileURL(`${folder}/`))
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const connection = await connect(playground, server.url)
  const call = callTogether(connection, 'run', read('count', 'always'), read('count', 'always', 'several'))
  // Redis knows both scripts from here on.
  await call(['warm'], [0])
  await Promise.all([call(['warm'], [0]), call(['warm'], [0])])
  return { server, connection, call, read }
}

async function callsOf(server: RedisServer): Promise<number> {
  const told = String(await server.command('INFO', 'commandstats'))
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(told)?.[1] ?? 0)
}

test('100 calls at once are one call of Redis, and each gets its own answer', async () => {
  const { server, call } = await counter()
  const before = await callsOf(server)
  const replies = await Promise.all(
    Array.from({ length: 100 }, (_, i) => call([`key-${i}`], i % 2 === 0 ? [i] : [i, 10])),
  )
  expect(replies).toEqual(Array.from({ length: 100 }, (_, i) => [i % 2 === 0 ? i : 10 * i, `key-${i}`]))
  expect((await callsOf(server)) - before).toBe(1)
})

test('one after the other they are calls of their own, in their order', async () => {
  const { server, call } = await counter()
  const before = await callsOf(server)
  for (let i = 1; i <= 5; i++) expect(await call(['key'], [1])).toEqual([i, 'key'])
  expect((await callsOf(server)) - before).toBe(5)
})

test('a call is bounded by its weight: the server does nothing else meanwhile', async () => {
  const { server, call } = await counter()
  const before = await callsOf(server)
  await Promise.all(Array.from({ length: 10 }, () => call(['key'], [1], 400)))
  expect((await callsOf(server)) - before).toBe(5)
  await Promise.all(Array.from({ length: 300 }, () => call(['key'], [1])))
  expect((await callsOf(server)) - before).toBe(8)
  expect(await call(['key'], [0])).toEqual([310, 'key'])
})

test('a bug of one caller is told to that caller alone', async () => {
  const { call } = await counter()
  const replies = await Promise.allSettled([call(['a'], [1]), call(['b'], ['wrong']), call(['c'], [3])])
  expect(replies.map(one => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual([
    [1, 'a'],
    expect.any(Bug),
    [3, 'c'],
  ])
})

test('a key that was overwritten from outside stops the call about it, and no other', async () => {
  const { server, call } = await counter()
  await server.command('HSET', 'b', 'x', 'y')
  const replies = await Promise.allSettled([call(['a'], [1]), call(['b'], [1]), call(['c'], [3])])
  expect(replies.map(one => (one.status === 'fulfilled' ? one.value : one.reason))).toEqual([
    [1, 'a'],
    expect.any(Bug),
    [3, 'c'],
  ])
  expect(String((replies[1] as PromiseRejectedResult).reason)).toContain('WRONGTYPE')
})

test('a server that is away fails all of them, and the next ones are made again', async () => {
  const { server, connection, call } = await counter()
  await server.stop()
  const replies = await Promise.allSettled([call(['a'], [1]), call(['b'], [1])])
  expect(replies.map(one => one.status)).toEqual(['rejected', 'rejected'])
  await server.start()
  await until('a connection', () => connection.connected())
  expect(await Promise.all([call(['a'], [1]), call(['b'], [2])])).toEqual([
    [1, 'a'],
    [2, 'b'],
  ])
})

test('where keys may be on several servers, nothing is shared: none waits for another', async () => {
  const { connection, read } = await counter()
  const asked: string[] = []
  const many = {
    ...connection,
    oneServer: false,
    run(...args: Parameters<typeof connection.run>) {
      asked.push(...args[1])
      return new Promise<unknown>(() => {})
    },
  }
  const call = callTogether(many, 'run', read('count', 'always'), read('count', 'always', 'several'))
  for (const key of ['a', 'b', 'c']) void call([key], [1])
  expect(asked).toEqual(['a', 'b', 'c'])
})
