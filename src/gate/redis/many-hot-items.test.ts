/** A hundred hot items at once: what each asks of Redis is small, so it must be asked together. Counted by Redis itself. */

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { type RedisServer, startRedis } from '../../../test/harness/redis.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import { ask, codes, openTerms } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'
import { createRedisOutbox } from './redis-outbox.ts'

const ITEMS = Array.from({ length: 100 }, (_, i) => String(1_000 + i))
/** Beside the script that is counted: NOSCRIPT at its first use. */
const FEW = 4

const playground = new Playground()
let server: RedisServer
let gate: RedisGate
let outbox: ReturnType<typeof createRedisOutbox>
beforeAll(async () => {
  server = await startRedis(playground)
  const connection = await connect(playground, server.url)
  gate = new RedisGate(connection)
  outbox = createRedisOutbox(connection)
})
afterAll(() => playground.undo())

/** How often Redis ran scripts, and how often they asked it for its identity (E1). */
async function during(work: () => Promise<unknown>) {
  const read = async () => {
    const told = String(await server.command('INFO', 'commandstats'))
    const of = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(told)?.[1] ?? 0)
    return { scripts: of('evalsha') + of('eval'), identities: of('info') }
  }
  const before = await read()
  await work()
  const after = await read()
  // One INFO is this test's own.
  return { scripts: after.scripts - before.scripts, identities: after.identities - before.identities - 1 }
}

test('building, selling and placing 100 items are a few script calls each, not a few hundred', async () => {
  const terms = await openTerms(gate, { left: 10 })
  const all = <T>(each: (item: string) => Promise<T>) => Promise.all(ITEMS.map(each))

  const built = await during(async () => {
    expect(await all(item => gate.fence(item, 1))).toEqual(ITEMS.map(() => ({ status: 'done' })))
    expect(await all(item => gate.activate(item, 1, terms))).toEqual(ITEMS.map(() => ({ status: 'done' })))
  })
  expect(built.scripts).toBeLessThanOrEqual(2 * FEW)

  const sold = await during(async () => {
    const replies = await all(item => gate.reserve(item, 1, [ask(`buyer of ${item}`)]))
    expect(replies.map(codes)).toEqual(ITEMS.map(() => ['reserved']))
  })
  expect(sold.scripts).toBeLessThanOrEqual(FEW)
  expect(sold.identities).toBeLessThanOrEqual(FEW)

  const placed = await during(async () => {
    const taken = await all(item => outbox.take(item, 'w', 500))
    const entries = taken.map(one => (one.status === 'ok' && !one.more ? one.entries : []))
    expect(entries.map(list => list.map(one => one.asks?.map(({ buyer }) => buyer)))).toEqual(
      ITEMS.map(item => [[`buyer of ${item}`]]),
    )
    await Promise.all(ITEMS.map((item, i) => outbox.done(item, 1, [entries[i]![0]!.id])))
  })
  expect(placed.scripts).toBeLessThanOrEqual(2 * FEW)
  expect(await outbox.depth(ITEMS)).toEqual(
    ITEMS.map(item => ({ item, entries: 0, units: 0, oldestMs: undefined, miscounted: 0 })),
  )
})

test('one that is stale, sold out or unknown among them is told so, and no other is', async () => {
  const terms = await openTerms(gate, { left: 1 })
  const items = ['2001', '2002', '2003', '2004']
  for (const item of items.slice(1)) {
    await gate.fence(item, 1)
    await gate.activate(item, 1, terms)
  }
  await gate.fence('2002', 2)
  await gate.reserve('2003', 1, [ask('first')])
  const replies = await Promise.all(items.map(item => gate.reserve(item, 1, [ask('ann')])))
  expect(replies.map(reply => ('answers' in reply ? reply.answers[0]!.code : reply.status))).toEqual([
    'stale',
    'stale',
    'not_enough',
    'reserved',
  ])
})
