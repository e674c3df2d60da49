/** E11 must not make items wait for each other: one WAIT confirms everything that was written before it. */

import { afterEach, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { createServer, connect as open, type Socket } from 'node:net'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis, startReplica } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../clock.ts'
import { Fault } from '../fault.ts'
import { connect } from './connection.fixture.ts'

const ITEMS = 300
/** One way, to a replica in another town. */
const WAY_MS = 5
const SOON_MS = 120_000

const text = "#!lua\nreturn redis.call('INCR', KEYS[1])"
const count = { name: 'count', text, digest: createHash('sha1').update(text).digest('hex') }

const playground = new Playground()
afterEach(() => playground.undo())

/** A proxy that delivers everything, a little later. */
async function delayingProxy(to: number): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer(from => {
    const there = open(to, '127.0.0.1')
    for (const [one, other] of [
      [from, there],
      [there, from],
    ] as const) {
      sockets.add(one)
      one.on('data', chunk => void systemClock.sleep(WAY_MS).then(() => other.write(chunk)))
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  playground.onUndo(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise<void>(resolve => server.close(() => resolve()))
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no address')
  return address.port
}

test('300 items on one server with a replica 10 ms away: all are answered, none waits for the replica 300 times', async () => {
  const primary = await startRedis(playground, { config: ['appendfsync everysec'] })
  const distant = await startRedis(playground, { config: ['appendfsync everysec'] })
  await distant.command('REPLICAOF', '127.0.0.1', String(await delayingProxy(primary.port)))
  await until('a replica', async () => (await primary.info('connected_slaves')) === '1', SOON_MS)
  await until('it follows', async () => (await distant.info('master_link_status')) === 'up', SOON_MS)
  const patient = { timeoutMs: 20_000, durability: 'replica', replicas: 1 } as const
  const connection = await connect(playground, primary.url, patient)
  const begunMs = systemClock.elapsed()
  for (let round = 1; round <= 3; round++) {
    const told = await Promise.all(
      Array.from({ length: ITEMS }, (_, i) =>
        connection.runDurably(count, [`item ${i}`], []).catch((error: unknown) => String(error)),
      ),
    )
    expect(new Set(told.map(String))).toEqual(new Set([String(round)]))
  }
  const tookMs = systemClock.elapsed() - begunMs
  const stats = String(await primary.command('INFO', 'commandstats'))
  const waits = Number(/^cmdstat_wait:calls=(\d+)/m.exec(stats)?.[1])
  console.log(`  3 × ${ITEMS} in ${Math.round(tookMs)} ms, with ${waits} waits for the replica`)
  // Each on its own, 300 waits are three seconds and more, in each of the three rounds.
  expect(waits).toBeWithin(1, (3 * ITEMS) / 2)
}, 300_000)

test('what is acknowledged is on the replica, however many share a WAIT, and whatever becomes of connection and replica', async () => {
  const primary = await startRedis(playground, { config: ['appendfsync everysec'] })
  const replica = await startReplica(playground, primary, { config: ['appendfsync everysec'] })
  const connection = await connect(playground, primary.url, { timeoutMs: 400, durability: 'replica', replicas: 1 })
  let done = 0
  let unknown = 0
  const more = async (n: number) => {
    try {
      await connection.runDurably(count, [`n${n}`], [])
      done += 1
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.outcomeUnknown) unknown += 1
    }
  }
  const rounds = async (times: number) => {
    for (let i = 0; i < times; i++) {
      await Promise.all(Array.from({ length: 20 }, (_, n) => more(n)))
      if (i % 5 === 4) await primary.command('CLIENT', 'KILL', 'TYPE', 'normal')
      if (i % 5 === 4) await until('a connection', () => connection.connected(), SOON_MS)
    }
  }
  await rounds(20)
  expect(done).toBeGreaterThan(0)
  // From here on no write reaches the replica: nothing is acknowledged, though the primary answers everything else as before.
  process.kill(replica.pid, 'SIGSTOP')
  const before = done
  await rounds(5)
  expect(done).toBe(before)
  expect(unknown).toBeGreaterThan(0)
  await primary.kill()
  process.kill(replica.pid, 'SIGCONT')
  const there = await Promise.all(Array.from({ length: 20 }, (_, n) => replica.command('GET', `n${n}`)))
  expect(there.reduce<number>((sum, value) => sum + Number(value), 0)).toBeGreaterThanOrEqual(done)
}, 300_000)
