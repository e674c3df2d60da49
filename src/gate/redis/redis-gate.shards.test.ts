import { afterEach, describe, expect, test } from 'bun:test'
import { Playground } from '../../../test/harness/playground.ts'
import { startRedis } from '../../../test/harness/redis.ts'
import { systemClock } from '../../base/clock.ts'
import { connect } from '../../base/redis/connection.fixture.ts'
import type { Holding } from '../gate.ts'
import { ask, codes, HOUR_MS, ITEM, openTerms } from './redis-gate.fixture.ts'
import { RedisGate } from './redis-gate.ts'
import { readScript } from './scripts.ts'

const SHARD = `${ITEM}#2`
const done = { status: 'done' } as const
const stale = { status: 'stale' } as const

const playground = new Playground()
afterEach(() => playground.undo())

/**
 * A gate with one of several shards on sale under epoch 1, and its clock in the test's hand. One that stands goes on only when the test
 * says so, and by what a single call takes: time that passes between two calls is not seen.
 */
async function setUp(left = 10, { still = false } = {}) {
  const server = await startRedis(playground, { config: ['appendonly no'] })
  const connection = await connect(playground, server.url)
  const clock = { offsetMs: 0 }
  const begunMs = systemClock.now()
  const passedMs = () => (still ? systemClock.now() - begunMs : 0)
  const gate = new RedisGate(connection, () => clock.offsetMs - passedMs())
  const terms = await openTerms(gate, { left })
  expect(await gate.activate(SHARD, 1, terms)).toEqual(done)
  const gateStatus = async (shard = SHARD) => (await gate.status([shard])).items[0]!
  const shown = async () => (await gateStatus()).shards![0]!
  return { server, connection, clock, gate, terms, gateStatus, shown }
}

describe('what is wanted in one of several shards', () => {
  test('is noted when a buyer is refused for want of units, and shown without a new version', async () => {
    const { gate, shown, clock } = await setUp(2)
    expect(await shown()).toMatchObject({ shard: SHARD, left: 2, waitedMs: undefined, wants: 0, moveNo: 0, moved: 0 })
    const reply = await gate.reserve(SHARD, 1, [ask('a', { quantity: 3 }), ask('b'), ask('c', { quantity: 9 })])
    expect(codes(reply)).toEqual(['not_enough', 'reserved', 'not_enough'])
    const before = await shown()
    expect(before).toMatchObject({ left: 1, held: 1, buyers: 1, wants: 3 })
    expect(before.waitedMs).toBeLessThan(HOUR_MS / 4)
    clock.offsetMs += HOUR_MS / 2
    expect((await shown()).waitedMs).toBeGreaterThanOrEqual(HOUR_MS / 2)
    expect(codes(await gate.reserve(SHARD, 1, [ask('d', { quantity: 3 })]))).toEqual(['not_enough'])
    const after = await shown()
    expect(after).toMatchObject({ version: before.version, wants: 3 })
    expect(after.waitedMs).toBeLessThan(HOUR_MS / 4)
  })

  test('the smallest wish counts; larger ones do not keep it alive, and take over when it is not asked for any more', async () => {
    const { gate, shown, clock } = await setUp(0, { still: true })
    const refused = async (quantity: number) => {
      expect(codes(await gate.reserve(SHARD, 1, [ask('a', { quantity })]))).toEqual(['not_enough'])
      return (await shown()).wants
    }
    expect(await refused(9)).toBe(9)
    expect(await refused(2)).toBe(2)
    for (let i = 0; i < 4; i++) {
      expect(await refused(9)).toBe(2)
      clock.offsetMs += 300
    }
    // Too long after the smallest, and not too long after the last of the larger ones.
    clock.offsetMs += 1_500
    expect(await refused(9)).toBe(9)
  })

  test('a crowd before an empty shard does not write with every batch; a smaller wish is written at once', async () => {
    const { server, gate, shown, clock } = await setUp(0, { still: true })
    const writes = async () =>
      Number(/rdb_changes_since_last_save:(\d+)/.exec(String(await server.command('INFO', 'persistence')))![1])
    await gate.reserve(SHARD, 1, [ask('first', { quantity: 2 })])
    // A step back is outwaited: the shard's own clock stands.
    clock.offsetMs -= 1_000
    const before = await writes()
    await Promise.all(Array.from({ length: 20 }, (_, i) => gate.reserve(SHARD, 1, [ask(`crowd${i}`, { quantity: 2 })])))
    expect(await writes()).toBe(before)
    await gate.reserve(SHARD, 1, [ask('modest')])
    expect((await shown()).wants).toBe(1)
  })

  test('noted by a clock that was ahead for a moment, it does not count when that is set right', async () => {
    const { gate, shown, clock } = await setUp(0)
    clock.offsetMs = HOUR_MS / 2
    await gate.reserve(SHARD, 1, [ask('a', { quantity: 2 })])
    expect((await shown()).waitedMs).toBeLessThan(HOUR_MS / 4)
    clock.offsetMs = 0
    expect((await shown()).waitedMs).toBeUndefined()
    await gate.reserve(SHARD, 1, [ask('b', { quantity: 9 })])
    expect(await shown()).toMatchObject({ wants: 9 })
    expect((await shown()).waitedMs).toBeLessThan(HOUR_MS / 4)
  })

  test('is not noted where it would be of no use: an item with one shard, the window, the attempts', async () => {
    const { gate, terms, server, shown } = await setUp(5)
    await gate.activate(ITEM, 1, { ...terms, left: 0 })
    expect(codes(await gate.reserve(ITEM, 1, [ask('a')]))).toEqual(['not_enough'])
    expect(await server.command('HMGET', `{${ITEM}}:gate`, 'waited', 'wants')).toEqual([null, null])
    expect((await gate.status([ITEM])).items[0]!.shards).toBeUndefined()
    expect(codes(await gate.reserve(SHARD, 1, [ask('a', { attempt: 4 })]))).toEqual(['attempts_used'])
    await gate.set(SHARD, 1, { ...terms, state: 'paused' })
    expect(codes(await gate.reserve(SHARD, 1, [ask('b', { quantity: 9 })]))).toEqual(['not_now'])
    expect(await shown()).toMatchObject({ waitedMs: undefined, wants: 0 })
  })
})

describe('half a move', () => {
  test('takes what is left and no more, gives all, and each changes the version', async () => {
    const { gate, shown } = await setUp(3)
    const versions = [(await shown()).version]
    expect(await gate.move(SHARD, 1, 1, -2)).toEqual({ status: 'done', taken: -2 })
    versions.push((await shown()).version)
    expect(await gate.move(SHARD, 1, 2, -5)).toEqual({ status: 'done', taken: -1 })
    versions.push((await shown()).version)
    expect(await shown()).toMatchObject({ left: 0, moveNo: 2, moved: -1 })
    expect(await gate.move(SHARD, 1, 7, 4)).toEqual({ status: 'done', taken: 4 })
    versions.push((await shown()).version)
    expect(await shown()).toMatchObject({ left: 4, held: 0, moveNo: 7, moved: 4 })
    expect(new Set(versions).size).toBe(4)
    expect(versions).toEqual(versions.toSorted((a, b) => a - b))
  })

  test('the same number again answers the same and moves nothing, whatever it asks for; a lower one is past', async () => {
    const { gate, gateStatus } = await setUp(3)
    expect(await gate.move(SHARD, 1, 5, -10)).toEqual({ status: 'done', taken: -3 })
    const before = await gateStatus()
    for (const delta of [-10, -1, 6]) expect(await gate.move(SHARD, 1, 5, delta)).toEqual({ status: 'done', taken: -3 })
    for (const no of [1, 4]) expect(await gate.move(SHARD, 1, no, 6)).toEqual({ status: 'past', changeNo: 5 })
    expect(await gateStatus()).toEqual(before)
  })

  test('what was wanted stays noted when units come: whoever waited is on the way back for them', async () => {
    const { gate, shown } = await setUp(1)
    await gate.reserve(SHARD, 1, [ask('a', { quantity: 2 })])
    await gate.move(SHARD, 1, 1, 2)
    expect(await shown()).toMatchObject({ wants: 2, left: 3 })
    expect((await shown()).waitedMs).toBeDefined()
  })

  test('is stale under another epoch or a fence, and begins anew with the next epoch', async () => {
    const { gate, terms, shown } = await setUp(3)
    await gate.move(SHARD, 1, 5, -1)
    await gate.reserve(SHARD, 1, [ask('a', { quantity: 9 })])
    expect(await gate.move(SHARD, 2, 6, -1)).toEqual(stale)
    await gate.fence(SHARD, 2)
    expect(await gate.move(SHARD, 1, 6, -1)).toEqual(stale)
    expect(await gate.activate(SHARD, 2, terms)).toEqual(done)
    expect(await shown()).toMatchObject({ moveNo: 0, moved: 0, waitedMs: undefined, wants: 0 })
    expect(await gate.move(SHARD, 2, 1, -1)).toEqual({ status: 'done', taken: -1 })
  })

  test('has its own numbers: stock changes do not know of them', async () => {
    const { gate, gateStatus } = await setUp(3)
    await gate.move(SHARD, 1, 9, -1)
    expect(await gate.change(SHARD, 1, 1, 4)).toEqual({ status: 'done', taken: 4 })
    expect(await gate.move(SHARD, 1, 9, -1)).toEqual({ status: 'done', taken: -1 })
    expect(await gateStatus()).toMatchObject({ left: 6, changeNo: 1 })
  })

  test('malformed, it is refused as a bug before anything is written', async () => {
    const { gate, connection, gateStatus } = await setUp(3)
    const before = await gateStatus()
    for (const [no, delta] of [
      [0, 1],
      [1.5, 1],
      [1, 1.5],
      [1, Number.MAX_SAFE_INTEGER],
    ] as const)
      await expect(gate.move(SHARD, 1, no, delta)).rejects.toThrow()
    for (const args of [
      ['1', '0', '1'],
      ['1', '1', 'x'],
      ['1', '1'],
    ])
      await expect(connection.run(readScript('move', 'always'), [`{${SHARD}}:gate`], args)).rejects.toThrow('BUG')
    expect(await gateStatus()).toEqual(before)
  })

  test('is unknown when nobody answers', async () => {
    const { gate, server } = await setUp(3)
    await server.kill()
    expect(await gate.move(SHARD, 1, 1, -1)).toEqual({ status: 'unknown' })
    expect(await gate.loaded(SHARD, 2)).toEqual({ status: 'unknown' })
  })
})

describe('what was loaded', () => {
  const page: readonly Holding[] = [
    { order: '1', buyer: 'a', attempt: 1, quantity: 2, live: true, reservedAtMs: 7 },
    { order: '2', buyer: 'b', attempt: 1, quantity: 5, live: false, reservedAtMs: 7 },
    { order: '3', buyer: 'b', attempt: 2, quantity: 1, live: true, reservedAtMs: 7 },
  ]

  test('is told before the activation, changes nothing, and is active afterwards', async () => {
    const { gate, terms } = await setUp()
    expect(await gate.loaded(SHARD, 1)).toEqual({ status: 'active' })
    expect(await gate.loaded(SHARD, 2)).toEqual({ status: 'ok', held: 0, buyers: 0 })
    await gate.load(SHARD, 2, page)
    expect(await gate.loaded(SHARD, 2)).toEqual({ status: 'ok', held: 3, buyers: 2 })
    expect(await gate.loaded(SHARD, 1)).toEqual({ status: 'active' })
    expect(await gate.loaded(SHARD, 3)).toEqual({ status: 'ok', held: 0, buyers: 0 })
    expect(await gate.activate(SHARD, 2, { ...terms, held: 3, buyers: 2 })).toEqual(done)
    expect(await gate.loaded(SHARD, 2)).toEqual({ status: 'active' })
    expect(await gate.loaded(SHARD, 1)).toEqual(stale)
  })

  test('is stale where the activation would be: a higher epoch was seen, or the server is another one', async () => {
    const { gate, server } = await setUp()
    await gate.load(SHARD, 2, page)
    await gate.fence(SHARD, 3)
    expect(await gate.loaded(SHARD, 2)).toEqual(stale)
    await gate.load(SHARD, 3, page)
    await server.command('FLUSHALL')
    expect(await gate.loaded(SHARD, 3)).toEqual(stale)
  })
})
