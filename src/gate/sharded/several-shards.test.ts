import { afterEach, describe, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { handClock } from '../cache/gate-cache.fixture.ts'
import type { Done, GateBooks, Holding, Terms } from '../gate.ts'
import { ask, codes, ITEM, openTerms } from '../redis/redis-gate.fixture.ts'
import { RedisGate } from '../redis/redis-gate.ts'
import { createRedisOutbox } from '../redis/redis-outbox.ts'
import { type ShardId, shardIdsOf, shardOf } from '../shard-ids.ts'
import { createShardCounts } from './shard-counts.ts'
import type { ShardGate } from './shard-gate.ts'
import { ShardedGate } from './sharded-gate.ts'
import { createShardedOutbox } from './sharded-outbox.ts'

const SHARDS = 3
const FRESH_MS = 1_000
const done = { status: 'done' } as const
const stale = { status: 'stale' } as const
const unknown = { status: 'unknown' } as const

const playground = new Playground()
afterEach(() => playground.undo())

/** A buyer of this shard. */
function buyerOf(shard: number, name = 'buyer'): string {
  for (let i = 0; ; i++) if (shardOf(`${name}${i}`, SHARDS) === shard) return `${name}${i}`
}

type Lost = (verb: 'set' | 'change' | 'activate', id: ShardId) => boolean

/** Calls that are lost on their way to one shard. */
function losing(gate: ShardGate, lost: Lost): ShardGate {
  const unless = async <R>(verb: Parameters<Lost>[0], id: ShardId, call: () => Promise<R>) =>
    lost(verb, id) ? unknown : call()
  return {
    status: items => gate.status(items),
    reserve: (id, epoch, asks) => gate.reserve(id, epoch, asks),
    release: (id, epoch, releases) => gate.release(id, epoch, releases),
    find: (id, buyer) => gate.find(id, buyer),
    holdings: (id, epoch) => gate.holdings(id, epoch),
    fence: (id, epoch) => gate.fence(id, epoch),
    load: (id, epoch, holdings) => gate.load(id, epoch, holdings),
    loaded: (id, epoch) => gate.loaded(id, epoch),
    move: (id, epoch, no, delta) => gate.move(id, epoch, no, delta),
    set: (id, ...rest) => unless('set', id, () => gate.set(id, ...rest)),
    change: (id, ...rest) => unless('change', id, () => gate.change(id, ...rest)),
    activate: (id, ...rest) => unless('activate', id, () => gate.activate(id, ...rest)),
  }
}

async function setUp(terms: Partial<Terms> = {}, options: { outboxEntriesMax?: number } = {}) {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const connection = await connect(playground, server.url)
  const shardGate = new RedisGate(connection, undefined, options.outboxEntriesMax)
  const counts = createShardCounts()
  const clock = handClock()
  let lost: Lost = () => false
  const unsure = losing(shardGate, (verb, shard) => lost(verb, shard))
  const gate = new ShardedGate(unsure, counts, clock, FRESH_MS)
  const outbox = createShardedOutbox(createRedisOutbox(connection), shardGate, counts)
  const all = await openTerms(shardGate, { left: 9, ...terms })
  counts.learn(ITEM, { shards: SHARDS, epoch: 1, gateShards: SHARDS })
  if (terms.held === undefined) expect(await gate.activate(ITEM, 1, all)).toEqual(done)
  const gateStatus = async () => (await gate.status([ITEM])).items[0]
  const lefts = async () => (await gateStatus())?.shards?.map(shard => shard.left)
  const lose = (next: Lost) => {
    lost = next
  }
  return { server, connection, shardGate, gate, counts, clock, outbox, terms: all, gateStatus, lefts, lose }
}

describe('who waits and who is refused', () => {
  test('an empty shard says wait while others have units, and not enough when nobody has', async () => {
    const { gate, gateStatus, lefts } = await setUp({ left: 3 })
    await gateStatus()
    expect(codes(await gate.reserve(ITEM, 1, [ask(buyerOf(0, 'a'))]))).toEqual(['reserved'])
    const late = ask(buyerOf(0, 'b'))
    const reply = await gate.reserve(ITEM, 1, [late, ask(buyerOf(0, 'c'), { quantity: 3 })])
    expect(codes(reply)).toEqual(['wait', 'not_enough'])
    expect(reply).toMatchObject({ left: 2, shard: { id: `${ITEM}#0`, left: 0 } })
    for (const shard of [1, 2]) await gate.reserve(ITEM, 1, [ask(buyerOf(shard))])
    expect(await lefts()).toEqual([0, 0, 0])
    expect(codes(await gate.reserve(ITEM, 1, [late]))).toEqual(['not_enough'])
  })

  test('nobody is refused by what was not looked at lately: that is a wait', async () => {
    const { gate, gateStatus, clock } = await setUp({ left: 0 })
    const asks = [ask(buyerOf(1))]
    expect(codes(await gate.reserve(ITEM, 1, asks))).toEqual(['wait'])
    await gateStatus()
    expect(codes(await gate.reserve(ITEM, 1, asks))).toEqual(['not_enough'])
    clock.go(FRESH_MS + 1)
    expect(codes(await gate.reserve(ITEM, 1, asks))).toEqual(['wait'])
    await gateStatus()
    expect(codes(await gate.reserve(ITEM, 1, asks))).toEqual(['not_enough'])
  })

  test('units between two shards are waited for, and are shown as moving until they are given', async () => {
    const { gate, shardGate, gateStatus } = await setUp({ left: 1 })
    const asks = [ask(buyerOf(2))]
    expect(await shardGate.move(`${ITEM}#0`, 1, 1, -1)).toEqual({ status: 'done', taken: -1 })
    expect(await gateStatus()).toMatchObject({ left: 0, held: 0, moving: 1 })
    const waits = await gate.reserve(ITEM, 1, asks)
    expect(codes(waits)).toEqual(['wait'])
    expect(waits).toMatchObject({ left: 1 })
    expect(await shardGate.move(`${ITEM}#2`, 1, 1, 1)).toEqual({ status: 'done', taken: 1 })
    expect(await gateStatus()).toMatchObject({ left: 1, moving: 0 })
    expect(codes(await gate.reserve(ITEM, 1, asks))).toEqual(['reserved'])
    expect(await gateStatus()).toMatchObject({ left: 0, held: 1, moving: 0 })
  })

  test('nobody is refused by a shard that was emptied by a move: whoever asks there first waits for the units too', async () => {
    const { gate, shardGate, gateStatus } = await setUp({ left: 3 })
    for (const shard of [1, 2]) await gate.reserve(ITEM, 1, [ask(buyerOf(shard))])
    await gateStatus()
    expect(await shardGate.move(`${ITEM}#0`, 1, 1, -1)).toEqual({ status: 'done', taken: -1 })
    const asks = [ask(buyerOf(0))]
    expect(codes(await gate.reserve(ITEM, 1, asks))).toEqual(['wait'])
    expect(codes(await gate.reserve(ITEM, 1, [ask(buyerOf(1, 'x'))]))).toEqual(['wait'])
    expect(await shardGate.move(`${ITEM}#1`, 1, 1, 1)).toEqual({ status: 'done', taken: 1 })
    expect(codes(await gate.reserve(ITEM, 1, [ask(buyerOf(1, 'x'))]))).toEqual(['reserved'])
    await gateStatus()
    expect(codes(await gate.reserve(ITEM, 1, asks))).toEqual(['not_enough'])
  })
})

describe('one item', () => {
  test('a batch of one shard says which; one of several shards is decided in each and merged in its order', async () => {
    const { gate, gateStatus } = await setUp({ left: 3 })
    await gateStatus()
    const asks = [2, 0, 2, 1, 0].map((shard, i) => ask(buyerOf(shard, `b${i}-`)))
    const mixed = await gate.reserve(ITEM, 1, asks)
    expect(codes(mixed)).toEqual(['reserved', 'reserved', 'not_enough', 'reserved', 'not_enough'])
    expect(mixed).toMatchObject({ left: 0 })
    expect(mixed).not.toHaveProperty('shard')
    expect('answers' in mixed && mixed.answers.map(answer => answer.order)).toEqual(asks.map(one => one.order))
    const one = await gate.reserve(ITEM, 1, [asks[0]!])
    const now = (await gateStatus())!
    expect(one).toMatchObject({
      version: now.version,
      shard: { id: `${ITEM}#2`, version: now.shards![2]!.version, left: 0 },
    })
  })

  test('as soon as one shard may have taken something that others did not answer for, the batch is unknown', async () => {
    const { gate, gateStatus } = await setUp({}, { outboxEntriesMax: 1 })
    await gate.reserve(ITEM, 1, [ask(buyerOf(0))])
    const asks = [ask(buyerOf(0, 'x')), ask(buyerOf(1, 'y'))]
    expect(await gate.reserve(ITEM, 1, asks)).toEqual(unknown)
    expect(await gateStatus()).toMatchObject({ held: 2, left: 7 })
    expect(await gate.reserve(ITEM, 1, [asks[0]!])).toEqual({ status: 'busy' })
    expect(codes(await gate.reserve(ITEM, 1, [asks[1]!]))).toEqual(['same'])
  })

  test('a buyer is in one shard and no other, and is found, released and shown there', async () => {
    const { gate, shardGate, server, gateStatus } = await setUp()
    const first = ask(buyerOf(1))
    await gate.reserve(ITEM, 1, [first])
    const books = ((await server.command('KEYS', '*:buyers')) as string[]).sort()
    expect(books).toEqual([`{${ITEM}#1}:1:buyers`])
    expect(await gate.find(ITEM, first.buyer)).toMatchObject({ status: 'ok', holdings: [{ order: first.order }] })
    const ordersIn = async (books: GateBooks, id: string) =>
      (await Array.fromAsync(books.holdings(id, 1))).flat().map(one => one.order)
    expect(await ordersIn(gate, ITEM)).toEqual([first.order])
    expect(await ordersIn(shardGate, `${ITEM}#1`)).toEqual([first.order])
    expect(await ordersIn(shardGate, `${ITEM}#0`)).toEqual([])
    expect(await gate.release(ITEM, 1, [{ ...first, outcome: 'closed' }])).toEqual(done)
    expect(await gateStatus()).toMatchObject({ left: 9, held: 0, buyers: 1 })
  })

  test('is not shown while one of its shards is lost, and its book is not taken for the whole', async () => {
    const { gate, server, gateStatus } = await setUp()
    const asks = [0, 1, 2].map(shard => ask(buyerOf(shard)))
    await gate.reserve(ITEM, 1, asks)
    const read = gate.holdings(ITEM, 1)[Symbol.asyncIterator]()
    await read.next()
    await server.command('DEL', `{${ITEM}#2}:gate`)
    const theRest = async () => {
      while (!(await read.next()).done);
    }
    await expect(theRest()).rejects.toMatchObject({ name: 'Fault', code: 'gate_stale' })
    expect(await Array.fromAsync(gate.holdings(ITEM, 1))).toEqual([])
    expect(await gateStatus()).toBeUndefined()
    expect((await gate.reserve(ITEM, 1, [asks[2]!])).status).toBe('stale')
    expect(codes(await gate.reserve(ITEM, 1, [asks[1]!]))).toEqual(['same'])
    expect((await gate.set(ITEM, 1, { stateNo: 1, state: 'paused', opensAtMs: 0, closesAtMs: 1 })).status).toBe('stale')
  })

  test('what nobody has read of in the ledger is stale, and never taken for one shard', async () => {
    const { gate, outbox, server } = await setUp()
    const other = '99'
    const { nowMs: _, items } = await gate.status([other, ITEM])
    expect(items.map(one => one.item)).toEqual([ITEM])
    expect(await gate.reserve(other, 1, [ask('a')])).toEqual({ status: 'stale', epoch: 1 })
    expect(await gate.reserve(ITEM, 2, [ask('a')])).toEqual({ status: 'stale', epoch: 2 })
    const answers: Done[] = [
      await gate.release(other, 1, []),
      await gate.load(ITEM, 2, []),
      await gate.set(other, 1, { stateNo: 1, state: 'open', opensAtMs: 0, closesAtMs: 1 }),
    ]
    expect(answers).toEqual([stale, stale, stale])
    expect(await gate.find(other, 'a')).toEqual(stale)
    expect(await gate.change(other, 1, 1, 1)).toEqual(stale)
    expect(await gate.fence(other, 1)).toEqual(unknown)
    await expect(outbox.depth([ITEM, other])).rejects.toMatchObject({ name: 'Fault', code: 'shards_unknown' })
    expect(await outbox.status([ITEM, other])).toEqual({ items: await outbox.depth([ITEM]), away: [other] })
    await expect(outbox.forget(other)).rejects.toMatchObject({ code: 'shards_unknown' })
    expect(await server.command('EXISTS', `{${other}}:gate`)).toBe(0)
  })
})

describe('told by halves', () => {
  test('a decrease that was stopped halfway adds up to the same when it is asked again', async () => {
    const { gate, lose, lefts, gateStatus } = await setUp({ left: 8 })
    lose((verb, id) => verb === 'change' && id === `${ITEM}#2`)
    expect(await gate.change(ITEM, 1, 1, -7)).toEqual(unknown)
    expect(await lefts()).toEqual([0, 0, 2])
    expect(await gateStatus()).toMatchObject({ changeNo: 0, uneven: true })
    lose(() => false)
    for (let i = 0; i < 2; i++) expect(await gate.change(ITEM, 1, 1, -7)).toEqual({ status: 'done', taken: -7 })
    expect(await lefts()).toEqual([0, 0, 1])
    expect(await gateStatus()).toMatchObject({ changeNo: 1, uneven: false })
    expect(await gate.change(ITEM, 1, 2, -7)).toEqual({ status: 'done', taken: -1 })
    expect(await gate.change(ITEM, 1, 3, 8)).toEqual({ status: 'done', taken: 8 })
    expect(await lefts()).toEqual([3, 3, 2])
  })

  test('an increase that was stopped halfway is there once when it is asked again', async () => {
    const { gate, lose, lefts } = await setUp({ left: 0 })
    lose((verb, id) => verb === 'change' && id === `${ITEM}#1`)
    expect(await gate.change(ITEM, 1, 1, 8)).toEqual(unknown)
    expect(await gate.change(ITEM, 1, 2, 8)).toEqual(unknown)
    lose(() => false)
    expect(await gate.change(ITEM, 1, 2, 8)).toEqual({ status: 'gap', changeNo: 0 })
    expect(await gate.change(ITEM, 1, 1, 8)).toEqual({ status: 'done', taken: 8 })
    expect(await gate.change(ITEM, 1, 2, 8)).toEqual({ status: 'done', taken: 8 })
    expect(await lefts()).toEqual([6, 6, 4])
  })

  test('a set that reached some shards only is shown as uneven and strict, until it is told again', async () => {
    const { gate, lose, gateStatus, terms } = await setUp()
    const windowState = { ...terms, stateNo: 1, state: 'paused' } as const
    lose((verb, id) => verb === 'set' && id === `${ITEM}#0`)
    expect(await gate.set(ITEM, 1, windowState)).toEqual(unknown)
    expect(await gateStatus()).toMatchObject({ stateNo: 0, state: 'paused', uneven: true })
    const mixed = await gate.reserve(ITEM, 1, [ask(buyerOf(0)), ask(buyerOf(1))])
    expect([mixed.status, codes(mixed)]).toEqual(['paused', ['reserved', 'not_now']])
    lose(() => false)
    expect(await gate.set(ITEM, 1, windowState)).toEqual(done)
    expect(await gateStatus()).toMatchObject({ stateNo: 1, state: 'paused', uneven: false })
    // Where the number did not arrive, a word that it has overtaken would still be taken.
    lose((verb, id) => verb === 'set' && id === `${ITEM}#2`)
    expect(await gate.set(ITEM, 1, { ...windowState, stateNo: 3 })).toEqual(unknown)
    expect(await gateStatus()).toMatchObject({ stateNo: 1, state: 'paused', uneven: true })
  })

  test('an activation that was stopped halfway shows nothing, and goes on with the same shares', async () => {
    const { gate, lose, gateStatus, lefts, terms } = await setUp({ left: 8, held: 5, buyers: 3 })
    const page = [0, 1, 2].map((shard, i) => held(buyerOf(shard), String(i + 1), shard + (shard === 0 ? 2 : 0)))
    expect(await gate.fence(ITEM, 1)).toEqual(done)
    expect(await gate.load(ITEM, 1, page)).toEqual(done)
    lose((verb, id) => verb === 'activate' && id === `${ITEM}#1`)
    expect(await gate.activate(ITEM, 1, terms)).toEqual(unknown)
    expect(await gateStatus()).toBeUndefined()
    lose(() => false)
    for (let i = 0; i < 2; i++) expect(await gate.activate(ITEM, 1, terms)).toEqual(done)
    expect(await lefts()).toEqual([3, 3, 2])
    expect(await gateStatus()).toMatchObject({ left: 8, held: 5, buyers: 3, uneven: false, moving: 0 })
  })
})

describe('another number of shards', () => {
  test('the next epoch may have one: all shards of the old one are stopped, and everybody keeps what they had', async () => {
    const { gate, counts, outbox, terms, gateStatus, server } = await setUp({ left: 6 })
    const asks = [0, 1, 2].map(shard => ask(buyerOf(shard)))
    await gate.reserve(ITEM, 1, asks)
    const book = (await Array.fromAsync(gate.holdings(ITEM, 1))).flat()
    counts.learn(ITEM, { shards: SHARDS, epoch: 2, gateShards: 1 })
    expect(await gate.load(ITEM, 2, book)).toEqual(done)
    // The old one sells on while the new one loads, and not a moment longer than until it is active.
    expect(await gateStatus()).toMatchObject({ epoch: 1, left: 3 })
    expect(await gate.activate(ITEM, 2, { ...terms, left: 3, held: 3, buyers: 3 })).toEqual(done)
    for (const one of asks) expect((await gate.reserve(ITEM, 1, [one])).status).toBe('stale')
    expect(await gateStatus()).toMatchObject({ epoch: 2, left: 3, held: 3, buyers: 3 })
    expect(await gateStatus()).not.toHaveProperty('shards')
    expect(codes(await gate.reserve(ITEM, 2, asks))).toEqual(['same', 'same', 'same'])
    expect(codes(await gate.reserve(ITEM, 2, [ask(buyerOf(0, 'late'), { quantity: 3 })]))).toEqual(['reserved'])
    for (const { buyer, order } of asks)
      expect(await gate.find(ITEM, buyer)).toMatchObject({ status: 'ok', holdings: [{ order }] })

    // What was taken in the old shards is still to be placed, and nothing is forgotten before.
    expect(await outbox.depth([ITEM])).toMatchObject([{ item: ITEM, entries: 4, units: 6 }])
    expect(await outbox.forget(ITEM)).toBe(false)
    const partitions = outbox.partitions([ITEM])
    expect(partitions.map(String)).toEqual([ITEM, ...shardIdsOf(ITEM, SHARDS)])
    for (const partition of partitions) {
      expect(outbox.itemOf(partition)).toBe(ITEM)
      const taken = await outbox.take(partition, 'w', 10)
      const entries = taken.status === 'ok' ? taken.entries : []
      expect(entries.map(({ asks }) => asks?.length)).toEqual([1])
      for (const { id, epoch } of entries) await outbox.done(partition, epoch, [id])
    }
    expect(await outbox.depth([ITEM])).toEqual([
      { item: ITEM, entries: 0, units: 0, oldestMs: undefined, miscounted: 0 },
    ])
    expect(await outbox.forget(ITEM)).toBe(true)
    expect(await server.command('DBSIZE')).toBe(0)
  })

  test('a lower epoch has no say while a higher one is loading into other shards: the one that sells goes on', async () => {
    const { gate, counts, terms, gateStatus } = await setUp()
    counts.learn(ITEM, { shards: SHARDS, epoch: 2, gateShards: 1 })
    expect(await gate.activate(ITEM, 2, terms)).toEqual(done)
    counts.learn(ITEM, { shards: SHARDS, epoch: 4, gateShards: SHARDS })
    expect(await gate.load(ITEM, 4, [])).toEqual(done)
    expect(await gate.fence(ITEM, 3)).toEqual(stale)
    expect(await gateStatus()).toMatchObject({ epoch: 2 })
    expect(codes(await gate.reserve(ITEM, 2, [ask('a')]))).toEqual(['reserved'])
  })

  test('asked for nothing, it answers for all its shards, also under an epoch that is not known', async () => {
    const { gate, server } = await setUp()
    expect((await gate.reserve(ITEM, 9, [])).status).toBe('stale')
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    expect(await gate.reserve(ITEM, 9, [])).toEqual({ status: 'busy' })
    expect(await gate.reserve(ITEM, 1, [])).toEqual({ status: 'busy' })
  })

  test('a fence stops every shard that any epoch may have had', async () => {
    const { gate, shardGate } = await setUp()
    expect(await gate.fence(ITEM, 5)).toEqual(done)
    for (const id of [ITEM, ...shardIdsOf(ITEM, SHARDS)]) expect(await shardGate.fence(id, 4)).toEqual(stale)
  })
})

function held(buyer: string, order: string, quantity: number): Holding {
  return { order, buyer, attempt: 1, quantity: Math.max(1, quantity), live: true, reservedAtMs: 7 }
}
