import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { WatchedRedis } from '../../../test/harness/redis-sentinel.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../clock.ts'
import { Fault } from '../fault.ts'
import { connect, hearingLog } from './connection.fixture.ts'
import { openRedis, type RedisConnection } from './connection.ts'

const SOON_MS = 120_000
const replica = { durability: 'replica', replicas: 1 } as const
const text = "#!lua\nreturn redis.call('INCR', KEYS[1])"
const count = { name: 'count', text, digest: createHash('sha1').update(text).digest('hex') }

const playground = new Playground()
afterEach(() => playground.undo())

/** Whom the sentinels name, once it is used. Asked for each time: on a busy machine they may have named another since. */
const primaryInUse = (watched: WatchedRedis, connection: RedisConnection) =>
  until(
    'the primary to be used',
    async () => {
      const primary = await watched.primary().catch(() => undefined)
      const inUse = connection.connected() && connection.primaries()[0]!.name === `127.0.0.1:${primary?.port}`
      return inUse ? primary : undefined
    },
    SOON_MS,
  )

test('the primary is who the sentinels say; when it dies its heir is found, nothing acknowledged is lost, and listeners are told', async () => {
  const watched = await WatchedRedis.start(playground, { downAfterMs: 1_000 })
  const connection = await connect(playground, watched.url, { ...replica, timeoutMs: 1_000 })
  const first = await primaryInUse(watched, connection)
  expect(connection.primaries()).toHaveLength(1)
  let gaps = 0
  const heard: string[] = []
  await connection.subscribe(
    'news',
    message => heard.push(message),
    () => {
      gaps += 1
    },
  )
  let done = 0
  let unknown = 0
  const more = async () => {
    try {
      await connection.runDurably(count, ['n'], [])
      done += 1
      return true
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.outcomeUnknown) unknown += 1
      return false
    }
  }
  await until('50 to be acknowledged', async () => (await more()) && done >= 50, SOON_MS)
  await first.kill()
  await watched.failedOver(first)
  await until('the heir to take writes', more, SOON_MS)
  const heir = await primaryInUse(watched, connection)
  expect(heir.port).not.toBe(first.port)
  const value = Number(await heir.command('GET', 'n'))
  expect(value).toBeGreaterThanOrEqual(done)
  expect(value).toBeLessThanOrEqual(done + unknown)
  await until('the gap to be told', () => gaps > 0, SOON_MS)
  await until(
    'a message to be heard',
    async () => {
      const speaker = await primaryInUse(watched, connection)
      await speaker.command('PUBLISH', 'news', 'x')
      return heard.length > 0
    },
    SOON_MS,
  )

  // The first one comes back as it was, and is made a replica. Nobody writes there meanwhile.
  await first.start()
  // Whoever makes it a replica hangs up on everybody there, us included.
  await until('it to follow', async () => (await first.info('role').catch(() => '')) === 'slave', SOON_MS)
  await until('writes', more, SOON_MS)
  const last = Number(await (await primaryInUse(watched, connection)).command('GET', 'n'))
  expect(last).toBeGreaterThanOrEqual(done)
  expect(last).toBeLessThanOrEqual(done + unknown)
}, 300_000)

test('a primary that was replaced while it slept is left, though its connection stands and nobody calls', async () => {
  const watched = await WatchedRedis.start(playground, { downAfterMs: 1_000 })
  const connection = await connect(playground, watched.url, replica)
  const first = await watched.primary()
  process.kill(first.pid, 'SIGSTOP')
  await watched.failedOver(first)
  expect((await primaryInUse(watched, connection)).port).not.toBe(first.port)
  process.kill(first.pid, 'SIGCONT')
}, 300_000)

test('what the sentinels name is used only if it is a primary', async () => {
  const watched = await WatchedRedis.start(playground)
  const [first, second] = watched.servers
  // For as long as a primary must be silent to be called down they go on naming it.
  await first!.command('REPLICAOF', '127.0.0.1', String(second!.port))
  const log = hearingLog()
  const connection = openRedis({ url: watched.url, clock: systemClock, log, ...replica })
  playground.onUndo(() => connection.close())
  await until('a refusal', () => log.text().includes('no primary'), SOON_MS)
  expect(connection.connected()).toBe(false)
  await expect(connection.command(['PING'])).rejects.toMatchObject({ code: 'redis_away' })
}, 300_000)

test('one sentinel is enough to ask, and the password is for the servers', async () => {
  const watched = await WatchedRedis.start(playground, { password: 'the-secret' })
  await watched.sentinels[0]!.kill()
  const connection = await connect(playground, watched.url, replica)
  expect(Number(await connection.runDurably(count, ['n'], []))).toBe(1)
}, 300_000)

test('a name that nobody knows, and an address that is no sentinel, are said', async () => {
  const watched = await WatchedRedis.start(playground)
  const plain = await startRedis(playground)
  for (const [url, words] of [
    [watched.url.replace('/till', '/tall'), 'no sentinel knows a primary by the name \\"tall\\"'],
    [`redis-sentinel://127.0.0.1:${plain.port}/till`, 'what the address names is no sentinel'],
  ] as const) {
    const log = hearingLog()
    const connection = openRedis({ url, clock: systemClock, log, ...replica })
    playground.onUndo(() => connection.close())
    await until(words, () => log.text().includes(words), SOON_MS)
    await expect(connection.command(['PING'])).rejects.toMatchObject({ code: 'redis_away', outcomeUnknown: false })
    expect(connection.connected()).toBe(false)
    await connection.close()
  }
}, 300_000)
