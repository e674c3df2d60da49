import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { RedisConnection } from '../../base/redis/connection.ts'
import type { Gate } from '../gate.ts'
import type { OutboxEntry, TakeReply } from '../outbox.ts'
import { ask, codes, HOUR_MS, ITEM, openTerms } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'
import { createRedisOutbox } from './redis-outbox.ts'
import { readScript } from './scripts.ts'

const playground = new Playground()
let server: RedisServer
let connection: RedisConnection
let gate: Gate
let outbox: ReturnType<typeof createRedisOutbox>
beforeAll(async () => {
  server = await startRedis(playground)
  connection = await connect(playground, server.url)
  gate = new RedisGate(connection)
  outbox = createRedisOutbox(connection)
})
beforeEach(async () => {
  await server.command('FLUSHALL')
  await sell(1)
})
afterAll(() => playground.undo())

async function sell(epoch: number): Promise<void> {
  await gate.fence(ITEM, epoch)
  expect(await gate.activate(ITEM, epoch, await openTerms(gate, { left: 1_000 }))).toEqual({ status: 'done' })
}

async function reserve(epoch: number, ...asks: ReturnType<typeof ask>[]): Promise<void> {
  expect(codes(await gate.reserve(ITEM, epoch, asks))).toEqual(asks.map(() => 'reserved'))
}

function entries(reply: TakeReply): readonly OutboxEntry[] {
  if (reply.status !== 'ok') throw new Error('another worker has the item')
  return reply.entries
}

const buyersOf = (reply: TakeReply) => entries(reply).map(entry => entry.asks?.map(one => one.buyer))
const keyOf = (epoch: number) => `{${ITEM}}:${epoch}:outbox`

const LEASE = `{${ITEM}}:worker`
const LEASE_MS = 2_000

/** Whoever has the item keeps it, however slow the machine: what follows is about who has it, not for how long. */
async function holdOn(worker: string): Promise<void> {
  await until('a lease without an end', async () => {
    if (Number(await server.command('PERSIST', LEASE)) === 1) return true
    // It lapsed before it was made endless, while nobody else was asking.
    await outbox.take(ITEM, worker, 500)
    return false
  })
}

/** What the lease has left, and what has passed since, is all of it: less than that was never given. */
async function expectWholeLease(take: () => Promise<unknown>): Promise<void> {
  const beginMs = systemClock.elapsed()
  await take()
  const leftMs = Number(await server.command('PTTL', LEASE))
  expect(leftMs).toBeLessThanOrEqual(LEASE_MS)
  expect(Math.max(leftMs, 0) + systemClock.elapsed() - beginMs).toBeGreaterThan(LEASE_MS - 100)
}

test('what a batch took is one entry, written by the very act, with everything an order needs', async () => {
  const asks = [
    ask('a', { quantity: 3 }),
    ask('greedy', { quantity: 2_000 }),
    ask('🐎 "b", [1]', { attempt: 2 }),
    ask('a'),
  ]
  const reply = await gate.reserve(ITEM, 1, asks)
  expect(codes(reply)).toEqual(['reserved', 'not_enough', 'reserved', 'same'])
  await gate.reserve(ITEM, 1, [ask('a'), ask('greedy', { quantity: 2_000 })])
  const [entry, ...more] = entries(await outbox.take(ITEM, 'w1', 500))
  expect(more).toEqual([])
  const reservedAtMs = 'answers' in reply ? reply.answers[0]!.reservedAtMs : 0
  expect(entry).toMatchObject({ epoch: 1 })
  expect(entry!.asks).toEqual(
    [asks[0]!, asks[2]!].map(({ order, buyer, attempt, quantity }) => ({
      order,
      buyer,
      attempt,
      quantity,
      reservedAtMs,
    })),
  )
  expect(await outbox.depth([ITEM, 'never'])).toEqual([
    { item: ITEM, entries: 1, units: 4, oldestMs: reservedAtMs, miscounted: 0 },
    { item: 'never', entries: 0, units: 0, oldestMs: undefined, miscounted: 0 },
  ])
})

test('entries come in their order, as many as fit, at least one', async () => {
  for (const batch of [['a', 'b'], ['c'], ['d', 'e', 'f'], ['g']]) await reserve(1, ...batch.map(buyer => ask(buyer)))
  expect(buyersOf(await outbox.take(ITEM, 'w1', 1))).toEqual([['a', 'b']])
  expect(buyersOf(await outbox.take(ITEM, 'w1', 3))).toEqual([['a', 'b'], ['c']])
  expect(buyersOf(await outbox.take(ITEM, 'w1', 5))).toEqual([['a', 'b'], ['c']])
  expect(buyersOf(await outbox.take(ITEM, 'w1', 500))).toEqual([['a', 'b'], ['c'], ['d', 'e', 'f'], ['g']])
})

test('many small entries are taken together, in their order', async () => {
  const buyers = Array.from({ length: 100 }, (_, i) => `buyer${i}`)
  for (const buyer of buyers) await reserve(1, ask(buyer))
  expect(buyersOf(await outbox.take(ITEM, 'w1', 500)).flat()).toEqual(buyers)
  expect(buyersOf(await outbox.take(ITEM, 'w1', 64)).flat()).toEqual(buyers.slice(0, 64))
  expect(buyersOf(await outbox.take(ITEM, 'w1', 65)).flat()).toEqual(buyers.slice(0, 65))
})

test('only done deletes an entry, only the ones it names, and again it changes nothing', async () => {
  for (const buyer of ['a', 'b', 'c']) await reserve(1, ask(buyer, { quantity: 2 }))
  const all = entries(await outbox.take(ITEM, 'w1', 500))
  expect(entries(await outbox.take(ITEM, 'w1', 500))).toEqual(all)
  for (let i = 0; i < 2; i++) await outbox.done(ITEM, 1, [all[0]!.id, all[2]!.id, '1-1'])
  await outbox.done(ITEM, 2, [all[1]!.id])
  await outbox.done(ITEM, 1, [])
  expect(buyersOf(await outbox.take(ITEM, 'w1', 500))).toEqual([['b']])
  expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 1, units: 2 }])
  await outbox.done(ITEM, 1, [all[1]!.id])
  expect(await outbox.depth([ITEM])).toEqual([{ item: ITEM, entries: 0, units: 0, oldestMs: undefined, miscounted: 0 }])
  await expect(outbox.done(ITEM, 1, ['*'])).rejects.toThrow('BUG')
})

test('two workers never both have an item; who gives it up or lets the lease lapse leaves the same entries to the next', async () => {
  await reserve(1, ask('a'))
  const held = { status: 'held' } as const
  const first = entries(await outbox.take(ITEM, 'w1', 500))
  await holdOn('w1')
  expect(await outbox.take(ITEM, 'w2', 500)).toEqual(held)
  await outbox.give(ITEM, 'w2')
  expect(await outbox.take(ITEM, 'w2', 500)).toEqual(held)
  await outbox.give(ITEM, 'w1')
  expect(entries(await outbox.take(ITEM, 'w2', 500))).toEqual(first)
  await holdOn('w2')
  expect(await outbox.take(ITEM, 'w1', 500)).toEqual(held)
  await expectWholeLease(() => outbox.take(ITEM, 'w2', 500))
  await until('the lease to lapse', async () => (await outbox.take(ITEM, 'w1', 500)).status === 'ok')
  await holdOn('w1')
  expect(await outbox.take(ITEM, 'w2', 500)).toEqual(held)
})

test('taking again renews the lease; an item where nothing waits is not held', async () => {
  expect(entries(await outbox.take(ITEM, 'w1', 500))).toEqual([])
  expect(entries(await outbox.take(ITEM, 'w2', 500))).toEqual([])
  await reserve(1, ask('a'))
  await outbox.take(ITEM, 'w1', 500)
  await server.command('PEXPIRE', LEASE, '300')
  await expectWholeLease(() => outbox.take(ITEM, 'w1', 500))
})

test('many workers at once: one of them gets the entries', async () => {
  await reserve(1, ask('a'))
  const replies = await Promise.all(Array.from({ length: 10 }, (_, i) => outbox.take(ITEM, `w${i}`, 500)))
  expect(replies.filter(reply => reply.status === 'ok')).toHaveLength(1)
})

test('the lowest epoch comes first; a rebuild removes no outbox that has entries, and an emptied one is tidied away', async () => {
  await reserve(1, ask('old'))
  await sell(2)
  await sell(9)
  await sell(10)
  await reserve(10, ask('new'))
  const [old, ...none] = entries(await outbox.take(ITEM, 'w1', 500))
  expect(none).toEqual([])
  expect(old).toMatchObject({ epoch: 1, asks: [{ buyer: 'old' }] })
  expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 2, units: 2, oldestMs: old!.asks![0]!.reservedAtMs }])
  await outbox.done(ITEM, 1, [old!.id])
  expect(entries(await outbox.take(ITEM, 'w1', 500))).toMatchObject([{ epoch: 10, asks: [{ buyer: 'new' }] }])
  expect(Number(await server.command('EXISTS', keyOf(1), keyOf(2), keyOf(9)))).toBe(0)
  expect(await server.command('HGETALL', `{${ITEM}}:outboxes`)).toEqual(['10', '1'])
})

test('a counter that was written from outside counts for nothing while the outbox is empty, and is set to what waits', async () => {
  const counters = `{${ITEM}}:outboxes`
  const counted = () => server.command('HGET', counters, '1')
  await server.command('HINCRBY', counters, '1', '-7')
  expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 0, units: 0, miscounted: 7 }])
  await reserve(1, ask('a', { quantity: 3 }), ask('b'))
  expect(await outbox.recount(ITEM)).toBe(7)
  expect(await counted()).toBe('4')
  expect(await outbox.recount(ITEM)).toBe(0)
  expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 1, units: 4, miscounted: 0 }])
  expect(buyersOf(await outbox.take(ITEM, 'w1', 500))).toEqual([['a', 'b']])

  // Too many entries to count them in one step: left as it is.
  for (let i = 0; i < 64; i++) await reserve(1, ask(`buyer${i}`))
  await server.command('HINCRBY', counters, '1', '5')
  expect(await outbox.recount(ITEM)).toBe(0)
  expect(await counted()).toBe('73')
  await expect(connection.run(readScript('recount', 'always'), [counters], [])).rejects.toThrow('BUG')
})

test('entries written before a restart are taken after it: the ledger judges them, not the gate (E5)', async () => {
  await reserve(1, ask('a'))
  await server.stop()
  await server.start()
  await until('a connection', () => connection.connected())
  expect(codes(await gate.reserve(ITEM, 1, [ask('b')]))).toBe('stale')
  expect(buyersOf(await outbox.take(ITEM, 'w1', 500))).toEqual([['a']])
})

test('an entry that can not be read is given as it is, in its order, and kept until it is done', async () => {
  await reserve(1, ask('before'))
  const garbage: string[][] = [
    ['nonsense', 'x'],
    ['at', '5', 'count', '1', 'pieces', '1', 'asks', 'not json'],
    ['at', '5', 'count', '2', 'pieces', '1', 'asks', '["7","b","1","1"]'],
    ['at', '5', 'count', '1', 'pieces', '2', 'asks', '["7","b","1","1"]'],
    ['at', '5', 'count', '1', 'pieces', '1', 'asks', '["0","b","1","1"]'],
    ['at', '5', 'count', '1', 'pieces', '1', 'asks', '["7","","1","1"]'],
    ['at', '5', 'count', '1', 'pieces', '1', 'asks', '["7","b","x","1"]'],
    ['more', 'x', 'at', '5', 'count', '1', 'pieces', '1', 'asks', '["7","b","1","1"]'],
    ['at', '5', 'count', '1', 'pieces', '1', 'more', 'x', 'asks', '["7","b","1","1"]'],
  ]
  for (const fields of garbage) await server.command('XADD', keyOf(1), '*', ...fields)
  await reserve(1, ask('after'))
  const all = entries(await outbox.take(ITEM, 'w1', 500))
  expect(all.map(entry => entry.asks?.[0]?.buyer)).toEqual(['before', ...garbage.map(() => undefined), 'after'])
  expect(all.slice(1, -1).map(entry => JSON.parse(entry.raw))).toEqual(garbage)
  await outbox.done(
    ITEM,
    1,
    all.slice(1, -1).map(entry => entry.id),
  )
  expect(buyersOf(await outbox.take(ITEM, 'w1', 500))).toEqual([['before'], ['after']])
})

test('an entry without a count of units is done by itself too', async () => {
  await server.command('XADD', keyOf(1), '*', 'nonsense', 'x')
  const [entry] = entries(await outbox.take(ITEM, 'w1', 500))
  await outbox.done(ITEM, 1, [entry!.id])
  expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 0, units: 0, miscounted: 0 }])
})

test('fields that a later version adds behind the known ones change nothing: the entry is read, counted and deleted', async () => {
  const added = ['at', '5', 'count', '1', 'pieces', '3', 'asks', '["7","b","1","3"]', 'region', 'eu', 'trace', '']
  await server.command('XADD', keyOf(1), '*', ...added)
  await server.command('HINCRBY', `{${ITEM}}:outboxes`, '1', '3')
  const [entry, ...more] = entries(await outbox.take(ITEM, 'w1', 500))
  expect(more).toEqual([])
  expect(entry!.asks).toEqual([{ order: '7', buyer: 'b', attempt: 1, quantity: 3, reservedAtMs: 5 }])
  expect(await outbox.recount(ITEM)).toBe(0)
  expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 1, units: 3, oldestMs: 5 }])
  await outbox.done(ITEM, 1, [entry!.id])
  expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 0, units: 0, miscounted: 0 }])
})

test('a lease that is longer than any was written by a clock that went back since: nobody waits for it', async () => {
  await reserve(1, ask('a'))
  expect(buyersOf(await outbox.take(ITEM, 'dead', 500))).toEqual([['a']])
  await server.command('PEXPIRE', LEASE, String(HOUR_MS))
  await expectWholeLease(async () => expect(buyersOf(await outbox.take(ITEM, 'w2', 500))).toEqual([['a']]))
})

test('a settled item is forgotten without a trace, and never while something waits', async () => {
  await reserve(1, ask('a'))
  await gate.load(ITEM, 2, [{ order: '5', buyer: 'x', attempt: 1, quantity: 1, live: true, reservedAtMs: 1 }])
  expect(await outbox.forget(ITEM)).toBe(false)
  const [entry] = entries(await outbox.take(ITEM, 'w1', 500))
  expect((await gate.status([ITEM])).items).toHaveLength(1)
  await outbox.done(ITEM, 1, [entry!.id])
  expect(await outbox.forget(ITEM)).toBe(true)
  expect(await server.command('KEYS', '*')).toEqual([])
  expect(await outbox.forget(ITEM)).toBe(true)
})

test('a full server still lets entries be taken and deleted', async () => {
  await reserve(1, ask('a'))
  await server.command('CONFIG', 'SET', 'maxmemory', '1')
  try {
    const [entry] = entries(await outbox.take(ITEM, 'w1', 500))
    await outbox.done(ITEM, 1, [entry!.id])
    expect(await outbox.depth([ITEM])).toMatchObject([{ entries: 0 }])
    await outbox.give(ITEM, 'w1')
    expect(await outbox.forget(ITEM)).toBe(true)
  } finally {
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
  }
})

test("the oldest entry's age is told by the gate's clock", async () => {
  const moved = new RedisGate(connection, () => -HOUR_MS)
  const { nowMs } = await gate.status([])
  const window = { opensAtMs: nowMs - 2 * HOUR_MS, closesAtMs: nowMs + HOUR_MS }
  await gate.set(ITEM, 1, { stateNo: 1, state: 'open', ...window })
  expect(codes(await moved.reserve(ITEM, 1, [ask('a')]))).toEqual(['reserved'])
  const [depth] = await outbox.depth([ITEM])
  expect(depth!.oldestMs).toBeLessThan(nowMs - HOUR_MS / 2)
})

test('a server that is away is a fault, and nothing is lost by asking again', async () => {
  await reserve(1, ask('a'))
  await server.stop()
  await until('the connection to be gone', () => !connection.connected())
  await expect(outbox.take(ITEM, 'w1', 500)).rejects.toMatchObject({ name: 'Fault', code: 'redis_away' })
  await expect(outbox.done(ITEM, 1, ['1-1'])).rejects.toMatchObject({ name: 'Fault', retryable: true })
  await server.start()
  await until('a connection', () => connection.connected())
  expect(buyersOf(await outbox.take(ITEM, 'w1', 500))).toEqual([['a']])
})
