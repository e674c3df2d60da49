import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { TakeReply } from '../outbox.ts'
import { ask, codes, ITEM, openTerms } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'
import { createRedisOutbox } from './redis-outbox.ts'
import { createRedisRelayCursor } from './redis-relay-cursor.ts'

const playground = new Playground()
let server: RedisServer
let gate: RedisGate
let outbox: ReturnType<typeof createRedisOutbox>
let cursor: ReturnType<typeof createRedisRelayCursor>
beforeAll(async () => {
  server = await startRedis(playground)
  const connection = await connect(playground, server.url)
  gate = new RedisGate(connection)
  outbox = createRedisOutbox(connection)
  cursor = createRedisRelayCursor(connection)
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

async function reserve(epoch: number, ...buyers: string[]): Promise<void> {
  for (const buyer of buyers) expect(codes(await gate.reserve(ITEM, epoch, [ask(buyer)]))).toEqual(['reserved'])
}

function entries(reply: TakeReply) {
  if (reply.status !== 'ok') throw new Error('another worker has the item')
  return reply.entries
}

const taken = async () => entries(await outbox.take(ITEM, 'w', 500))
const uncopied = async () => entries(await cursor.uncopied(ITEM, 'w', 500))
const buyers = (list: Awaited<ReturnType<typeof uncopied>>) => list.map(entry => entry.asks?.[0]?.buyer)
const upTo = (entry: string, position = '0:1', epoch = 1) => ({ epoch, entry, position })

test('what was copied is not shown again and stays in the outbox; the cursor never goes back', async () => {
  await reserve(1, 'a', 'b', 'c')
  const [first, second] = await uncopied()
  expect(buyers(await uncopied())).toEqual(['a', 'b', 'c'])
  await cursor.copied(ITEM, upTo(second!.id))
  await cursor.copied(ITEM, upTo(first!.id, '0:0'))
  expect(buyers(await uncopied())).toEqual(['c'])
  expect(buyers(await taken())).toEqual(['a', 'b', 'c'])
  expect(await cursor.cursors(ITEM)).toEqual([upTo(second!.id)])
  await reserve(1, 'd')
  expect(buyers(await uncopied())).toEqual(['c', 'd'])
})

test('one worker at a time copies or places: it is the same lease', async () => {
  await reserve(1, 'a')
  await server.command('SET', `{${ITEM}}:worker`, 'other', 'PX', '1900')
  expect(await cursor.uncopied(ITEM, 'w', 500)).toEqual({ status: 'held' })
})

test('entries are copied again only from a cursor that stands where it was seen, and only if some are left', async () => {
  await reserve(1, 'a', 'b')
  const [first, second] = await uncopied()
  expect(await cursor.rewind(ITEM, upTo(first!.id))).toBe(false)
  await cursor.copied(ITEM, upTo(second!.id))
  expect(await cursor.rewind(ITEM, upTo(second!.id, '0:2'))).toBe(false)
  expect(await cursor.rewind(ITEM, upTo(second!.id))).toBe(true)
  expect(buyers(await uncopied())).toEqual(['a', 'b'])
  await cursor.copied(ITEM, upTo(second!.id))
  await outbox.done(ITEM, 1, [first!.id, second!.id])
  expect(await cursor.cursors(ITEM)).toEqual([])
  expect(await cursor.rewind(ITEM, upTo(second!.id))).toBe(false)
})

test('each epoch has a cursor of its own, the lowest epoch comes first, and an emptied one leaves none behind', async () => {
  await reserve(1, 'old')
  const [old] = await uncopied()
  await sell(2)
  await reserve(2, 'new')
  expect(buyers(await uncopied())).toEqual(['old'])
  await cursor.copied(ITEM, upTo(old!.id))
  const [next] = await uncopied()
  expect(next).toMatchObject({ epoch: 2, asks: [{ buyer: 'new' }] })
  await cursor.copied(ITEM, upTo(next!.id, '3:9', 2))
  expect((await cursor.cursors(ITEM)).map(one => one.epoch)).toEqual([1, 2])
  await outbox.done(ITEM, 1, [old!.id])
  expect(await server.command('HKEYS', `{${ITEM}}:copied`)).toEqual(['2'])
  // Written late, by a relay that slept: there is no outbox of that epoch any more.
  await cursor.copied(ITEM, upTo(old!.id))
  expect(await server.command('HKEYS', `{${ITEM}}:copied`)).toEqual(['2'])
  await outbox.done(ITEM, 2, [next!.id])
  expect(await outbox.forget(ITEM)).toBe(true)
  expect(await server.command('KEYS', '*')).toEqual([])
})
