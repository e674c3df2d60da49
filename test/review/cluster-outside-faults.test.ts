/** What fails outside is a fault and never a bug: a process does not end because of it. */

import { afterEach, expect, test } from 'bun:test'
import { connectTo, watchDurability } from '../../src/app/compose-redis.ts'
import { readConfig } from '../../src/app/config.ts'
import { systemClock } from '../../src/base/clock.ts'
import { Fault } from '../../src/base/fault.ts'
import { systemRandom } from '../../src/base/random.ts'
import { createDatabase } from '../../src/ledger/postgres/database.ts'
import { Playground } from '../harness/playground.ts'
import { startPostgres } from '../harness/postgres.ts'
import { startRedis, startReplica } from '../harness/redis.ts'
import { Relay } from '../harness/relay.ts'
import { until } from '../harness/until.ts'

const playground = new Playground()
afterEach(() => playground.undo())

test('a keeper that slept in the middle of a snapshot finds its session ended: it starts over, it does not end', async () => {
  const postgres = await startPostgres(playground)
  const { user, database: name } = postgres.connection
  // Over a network the last word of the server is read; over a socket of this machine the writing fails before.
  const road = await Relay.start(playground, { path: postgres.socket })
  const database = createDatabase({
    connection: { host: '127.0.0.1', port: road.port(), user, database: name },
    poolMax: 2,
    clock: systemClock,
    random: systemRandom,
    onError: () => {},
  })
  playground.onUndo(() => database.close())
  const sleep = new Int32Array(new SharedArrayBuffer(4))
  const snapshot = database.transaction(async run => {
    await run('now', [])
    // The whole process stands still for longer than the server waits for it.
    Atomics.wait(sleep, 0, 0, 6_500)
    await run('now', [])
  })
  expect(await snapshot.catch((error: unknown) => error)).toBeInstanceOf(Fault)
}, 60_000)

test('E11: a Redis whose replicas follow a moment after it does not end the processes that started while it was away', async () => {
  const primary = await startRedis(playground)
  await primary.stop()
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const redis = { url: primary.url, durability: 'replica', replicas: 1, unverified: false } as const
  const connection = connectTo(redis, log)
  const stop = new AbortController()
  playground.onUndo(async () => {
    stop.abort()
    await connection.close()
  })
  const wrong = Promise.withResolvers<unknown>()
  await watchDurability(redis, connection, log, stop.signal, wrong.resolve, 100)
  await primary.start()
  await until('a connection', () => connection.connected())
  // Longer than it takes to look at it twice.
  expect(await Promise.race([wrong.promise, systemClock.sleep(1_500).then(() => 'nothing')])).toBe('nothing')
  await startReplica(playground, primary)
  // With its replica it is held to what it is set to, as it would have been at the start.
  const heard = String(await wrong.promise)
  expect(heard).toContain('min-replicas-to-write')
  expect(heard).not.toContain('follow the primary')
}, 60_000)

test('no part of a password reaches the log, however the address is written', () => {
  const keys = { ADMIN_TOKEN: 'a'.repeat(20), TICKET_KEYS: `k:${'x'.repeat(40)}`, BUYER_JWT_SECRET: 'b'.repeat(32) }
  for (const [DATABASE_URL, REDIS_URL] of [
    ['postgres://user:one@two/three@host/db', 'redis://:one@two@host:6379/0'],
    ['postgres://user@host/db?sslmode=require&password=two', 'redis://host:6379/0'],
  ] as const) {
    const told = JSON.stringify(readConfig({ ...keys, DATABASE_URL, REDIS_URL }).shown)
    expect(told).not.toMatch(/one|two|three/)
    expect(told).toContain('host')
  }
})
