import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { caughtUp, promote, type RedisServer, startRedis, startReplica } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import type { Gate, Holding } from '../gate.ts'
import { ask, codes, ITEM, openItem, openTerms } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'

/** E1: an epoch lives and dies with the process and the history it was activated in. */

const playground = new Playground()
afterEach(() => playground.undo())

const stale = { status: 'stale' } as const
const done = { status: 'done' } as const
const held: Holding = { order: '12', buyer: 'held', attempt: 1, quantity: 2, live: true, reservedAtMs: 1 }

async function backAgain(connection: RedisConnection, server: RedisServer): Promise<void> {
  await until('an answer from the new process', async () => {
    const told = await connection.command(['INFO', 'server']).catch(() => '')
    return String(told).includes(`process_id:${server.pid}\r`)
  })
}

async function expectNobodySells(gate: Gate): Promise<void> {
  expect((await gate.reserve(ITEM, 1, [ask('late')])).status).toBe('stale')
  expect(await gate.release(ITEM, 1, [{ order: '12', buyer: 'held', attempt: 1, outcome: 'closed' }])).toEqual(stale)
  expect(await gate.find(ITEM, 'held')).toEqual(stale)
  expect(await gate.change(ITEM, 1, 1, 5)).toEqual(stale)
  const { nowMs, items } = await gate.status([ITEM])
  expect(items).toEqual([])
  const windowState = { stateNo: 1, state: 'open', opensAtMs: nowMs, closesAtMs: nowMs + 1 } as const
  expect(await gate.set(ITEM, 1, windowState)).toEqual(stale)
  for await (const page of createdBooks(gate)) expect(page).toEqual([])
}

const createdBooks = (gate: Gate) => (gate as RedisGate).holdings(ITEM, 1)

/** The rebuild that follows, under a higher epoch, sells again. */
async function expectRebuild(gate: Gate, epoch: number): Promise<void> {
  expect(await gate.fence(ITEM, epoch)).toEqual(done)
  expect(await gate.load(ITEM, epoch, [held])).toEqual(done)
  expect(await gate.activate(ITEM, epoch, await openTerms(gate, { held: 2, buyers: 1 }))).toEqual(done)
  expect(codes(await gate.reserve(ITEM, epoch, [ask('held'), ask('next')]))).toEqual(['same', 'reserved'])
}

test('a server that was restarted with all its data sells nothing under the old epoch', async () => {
  const server = await startRedis(playground)
  const { gate, connection, terms } = await openItem(playground, server.url)
  expect(codes(await gate.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
  await server.stop()
  await server.start()
  await backAgain(connection, server)
  expect(Number(await server.command('EXISTS', `{${ITEM}}:gate`))).toBe(1)
  await expectNobodySells(gate)
  expect(await gate.activate(ITEM, 1, terms)).toEqual(stale)
  expect(await gate.load(ITEM, 1, [held])).toEqual(stale)
  await expectRebuild(gate, 2)
})

test('a server that came back empty sells nothing under the old epoch', async () => {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const { gate, connection } = await openItem(playground, server.url)
  await server.kill()
  await server.start()
  await backAgain(connection, server)
  await expectNobodySells(gate)
  await expectRebuild(gate, 2)
})

test('FLUSHALL in mid-sale: everything is stale until a rebuild', async () => {
  const server = await startRedis(playground)
  const { gate } = await openItem(playground, server.url)
  await server.command('FLUSHALL')
  await expectNobodySells(gate)
  await expectRebuild(gate, 2)
})

test('a replica shows nothing of its primary, though it has every byte of it', async () => {
  const primary = await startRedis(playground)
  const replica = await startReplica(playground, primary)
  const { gate } = await openItem(playground, primary.url)
  expect(codes(await gate.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
  await caughtUp(primary, replica)
  const there = new RedisGate(await connect(playground, replica.url))
  expect((await there.status([ITEM])).items).toEqual([])
  expect(await there.find(ITEM, 'a')).toEqual(stale)
})

test('a promoted replica sells nothing under the old epoch, and neither does the first server after a fail-back', async () => {
  const first = await startRedis(playground)
  const second = await startReplica(playground, first)
  const { gate, connection } = await openItem(playground, first.url)
  expect(codes(await gate.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
  await caughtUp(first, second)
  const runId = await first.info('run_id')

  await promote(second)
  const other = await connect(playground, second.url)
  await expectNobodySells(new RedisGate(other))

  await first.command('REPLICAOF', '127.0.0.1', String(second.port))
  await caughtUp(second, first)
  await promote(first)
  expect(await first.info('run_id')).toBe(runId)
  await until('a connection', () => connection.connected())
  await expectNobodySells(gate)
  await expectRebuild(gate, 2)
})

for (const [what, between] of [
  ['restarted with its data', (server: RedisServer) => server.stop().then(() => server.start())],
  ['emptied', (server: RedisServer) => server.command('FLUSHALL')],
] as const) {
  test(`an epoch that was loaded before the server was ${what} is not activated after it, and that is no bug`, async () => {
    const server = await startRedis(playground)
    const connection = await connect(playground, server.url)
    const gate = new RedisGate(connection)
    const terms = await openTerms(gate, { held: 2, buyers: 1 })
    expect(await gate.load(ITEM, 3, [held])).toEqual(done)
    await between(server)
    await backAgain(connection, server)
    expect(await gate.load(ITEM, 3, [{ ...held, order: '13', buyer: 'other' }])).toEqual(stale)
    expect(await gate.activate(ITEM, 3, terms)).toEqual(stale)
    await expectNobodySells(gate)
    await expectRebuild(gate, 4)
  })

  test(`an epoch that was fenced before the server was ${what} is not activated after it`, async () => {
    const server = await startRedis(playground)
    const connection = await connect(playground, server.url)
    const gate = new RedisGate(connection)
    expect(await gate.fence(ITEM, 3)).toEqual(done)
    await between(server)
    await backAgain(connection, server)
    expect(await gate.activate(ITEM, 3, await openTerms(gate))).toEqual(stale)
    await expectRebuild(gate, 4)
  })
}
