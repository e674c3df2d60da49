import { describe, expect, test } from 'bun:test'
import type { GateStatus, ShardStatus } from '../gate.ts'
import { shardIdsOf, shardOf } from '../shard-ids.ts'
import { FRESH_MS, ITEM, openCache, shardStatus, status } from './gate-cache.fixture.ts'

const [ZERO, ONE, TWO] = shardIdsOf(ITEM, 3) as [string, string, string]

/** The status of an item with three shards. */
function statusOf(fields: Partial<GateStatus>, ...each: readonly Partial<ShardStatus>[]): GateStatus {
  return status({ ...fields, shards: [ZERO, ONE, TWO].map((shard, i) => shardStatus({ shard, ...each[i] })) })
}

function buyerOf(shard: number, name = 'buyer'): string {
  for (let i = 0; ; i++) if (shardOf(`${name}${i}`, 3) === shard) return `${name}${i}`
}

describe('the newest status of an item with several shards', () => {
  test('is the sum, and in each shard the newer version wins, in whatever order they arrive', () => {
    const { clock, cache } = openCache()
    cache.seen(statusOf({}, { left: 5 }, { left: 6 }, { left: 7 }), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ item: ITEM, epoch: 1, version: 3, left: 18, held: 0 })
    cache.reserved(ONE, { epoch: 1, version: 4, left: 3 }, ['a'])
    cache.reserved(ONE, { epoch: 1, version: 3, left: 4 }, ['b'])
    expect(cache.statusNow(ITEM)).toMatchObject({ version: 6, left: 15, held: 3 })
    // Asked before that message was heard, but after place 2 had sold.
    cache.seen(
      statusOf({}, { left: 5 }, { left: 5, version: 2, held: 1 }, { left: 6, version: 2, held: 1 }),
      clock.elapsed(),
    )
    expect(cache.statusNow(ITEM)).toMatchObject({ version: 7, left: 14, held: 4 })
    cache.seen(statusOf({}, { left: 5 }, { left: 9 }, { left: 9 }), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ version: 7, left: 14 })
  })

  test('is made when something was fed, and not for every question', () => {
    const { clock, cache } = openCache()
    cache.seen(statusOf({}), clock.elapsed())
    const first = cache.statusNow(ITEM)
    expect(cache.statusNow(ITEM)).toBe(first!)
    cache.reserved(TWO, { epoch: 1, version: 2, left: 9 }, ['a'])
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 29 })
    expect(cache.statusNow(ITEM)).toBe(cache.statusNow(ITEM)!)
  })

  test('is not shown when it was asked for too long ago, and a message to one shard does not renew it', () => {
    const { clock, cache } = openCache()
    cache.seen(statusOf({}), clock.elapsed())
    clock.go(FRESH_MS + 1)
    for (const id of [ZERO, ONE, TWO]) cache.reserved(id, { epoch: 1, version: 2, left: 9 }, ['a'])
    expect(cache.statusNow(ITEM)).toBeUndefined()
    cache.seen(statusOf({}), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 27 })
  })

  test('is not shown before all shards were looked at, nor once one of them was heard of under a newer epoch', () => {
    const { clock, cache } = openCache()
    cache.reserved(ZERO, { epoch: 1, version: 2, left: 9 }, ['a'])
    expect(cache.statusNow(ITEM)).toBeUndefined()
    cache.seen(statusOf({}, {}, {}, {}), clock.elapsed())
    expect(cache.statusNow(ITEM)).toBeDefined()
    cache.reserved(TWO, { epoch: 2, version: 1, left: 0 }, ['b'])
    expect(cache.statusNow(ITEM)).toBeUndefined()
    cache.seen(statusOf({ epoch: 2 }), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ epoch: 2 })
  })

  test('units that are under way between two shards are not sold out', () => {
    const { clock, cache } = openCache()
    const [none, gone, come] = [
      { left: 0 },
      { left: 0, version: 2, moveNo: 7, moved: -2 },
      { left: 2, version: 2, moveNo: 7, moved: 2 },
    ]
    cache.seen(statusOf({}, none, gone, none), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 2 })
    cache.seen(statusOf({}, come, gone, none), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 2 })
    cache.reserved(ZERO, { epoch: 1, version: 3, left: 0 }, ['a', 'b'])
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 0 })
  })

  test('nor are units that a move has taken between two messages: what else happened there only a status tells', () => {
    const { clock, cache } = openCache()
    const none = { left: 0 }
    cache.seen(statusOf({}, none, { left: 2 }, none), clock.elapsed())
    cache.reserved(ONE, { epoch: 1, version: 2, left: 1 }, ['a'])
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 1 })
    // Version 3 was a move that took the last unit; this reply of the shard took nothing.
    cache.reserved(ONE, { epoch: 1, version: 3, left: 0 }, [])
    expect(cache.statusNow(ITEM)).toBeUndefined()
    cache.seen(statusOf({}, none, { left: 0, version: 3, moveNo: 1, moved: -1 }, none), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 1 })
    cache.seen(
      statusOf({}, { left: 1, version: 2, moveNo: 1, moved: 1 }, { left: 0, version: 3, moveNo: 1, moved: -1 }, none),
      clock.elapsed(),
    )
    cache.reserved(ZERO, { epoch: 1, version: 3, left: 0 }, ['b'])
    expect(cache.statusNow(ITEM)).toMatchObject({ left: 0 })
  })

  test('state and window are those of the look that was asked for last, whatever the versions', () => {
    const { clock, cache } = openCache()
    cache.seen(statusOf({ state: 'paused' }), clock.elapsed())
    cache.reserved(ZERO, { epoch: 1, version: 9, left: 3 }, ['a'])
    clock.go(10)
    cache.seen(statusOf({ state: 'open' }, { version: 2 }, { version: 2 }, { version: 2 }), clock.elapsed())
    cache.seen(statusOf({ state: 'paused' }), clock.elapsed() - 10)
    expect(cache.statusNow(ITEM)).toMatchObject({ state: 'open' })
  })
})

describe('who has an order in one of several shards', () => {
  test('a shard that misses a buyer is a yes to its own buyers, and the others stay a no to strangers', () => {
    const { clock, cache } = openCache()
    cache.seen(statusOf({}), clock.elapsed())
    expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard)))).toEqual([false, false, false])
    cache.reserved(ONE, { epoch: 1, version: 2, left: 9 }, [buyerOf(1)])
    expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard)))).toEqual([false, true, false])
    expect(cache.knows(ITEM, buyerOf(1, 'stranger'))).toBe(false)
    cache.seen(statusOf({ buyers: 2 }, { version: 2, buyers: 1 }, { version: 2, buyers: 1 }, {}), clock.elapsed())
    expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard, 'stranger')))).toEqual([true, false, false])
  })

  test('only the shard that misses a buyer is reloaded', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(statusOf({}), clock.elapsed())
    clock.go(1)
    cache.seen(statusOf({}, {}, {}, { version: 5, buyers: 1 }), clock.elapsed())
    clock.go(600)
    expect(await reload([[buyerOf(2)]])).toBe(TWO)
    clock.go(1)
    cache.seen(statusOf({}, {}, {}, { version: 5, buyers: 1 }), clock.elapsed())
    expect(await reload()).toBeUndefined()
    expect(cache.knows(ITEM, buyerOf(2))).toBe(true)
    expect(cache.knows(ITEM, buyerOf(2, 'stranger'))).toBe(false)
  })

  test('the next epoch in as many shards begins with whom the last one ended with', () => {
    const { clock, cache } = openCache()
    cache.seen(statusOf({}), clock.elapsed())
    cache.reserved(ONE, { epoch: 1, version: 2, left: 9 }, [buyerOf(1)])
    clock.go(1)
    cache.seen(statusOf({ epoch: 2 }, {}, { buyers: 1 }, {}), clock.elapsed())
    expect(cache.knows(ITEM, buyerOf(1))).toBe(true)
    expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard, 'stranger')))).toEqual([false, false, false])
  })

  test.each(['look', 'message'] as const)(
    'an epoch with another number of shards knows nobody when its first %s comes: a yes to everybody',
    async first => {
      const { clock, cache, reload } = openCache()
      const buyer = buyerOf(1)
      cache.seen(statusOf({}), clock.elapsed())
      cache.reserved(ONE, { epoch: 1, version: 2, left: 9 }, [buyer])
      clock.go(1)
      if (first === 'message') {
        cache.reserved(ITEM, { epoch: 2, version: 2, left: 8 }, [buyerOf(0)])
        expect(cache.statusNow(ITEM)).toBeUndefined()
        expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard)))).toEqual([true, true, true])
      }
      cache.seen(status({ epoch: 2, version: 2, buyers: 2, left: 8 }), clock.elapsed())
      expect(cache.statusNow(ITEM)).toMatchObject({ epoch: 2, left: 8 })
      expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard)))).toEqual([true, true, true])
      // Late word of the old shards changes nothing.
      cache.reserved(ONE, { epoch: 1, version: 3, left: 0 }, ['late'])
      cache.seen(statusOf({ left: 0 }, { version: 9, left: 0 }), clock.elapsed())
      expect(cache.statusNow(ITEM)).toMatchObject({ epoch: 2, left: 8 })
      clock.go(600)
      expect(await reload([[buyer, buyerOf(0)]], 2)).toBe(ITEM)
      clock.go(1)
      cache.seen(status({ epoch: 2, version: 2, buyers: 2 }), clock.elapsed())
      expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard)))).toEqual([true, true, false])
      // And back into several.
      cache.reserved(TWO, { epoch: 3, version: 1, left: 4 }, ['new'])
      expect(cache.statusNow(ITEM)).toBeUndefined()
      expect(cache.knows(ITEM, buyerOf(2))).toBe(true)
    },
  )

  test('a status from before the item was in one shard and in several again proves nothing of those', () => {
    const { clock, cache } = openCache()
    cache.seen(statusOf({ epoch: 1 }, { buyers: 0 }, { buyers: 0 }, { buyers: 0 }), clock.elapsed())
    const buyer = buyerOf(0)
    cache.reserved(ITEM, { epoch: 3, version: 1, left: 9 }, [buyer])
    cache.reserved(ONE, { epoch: 5, version: 1, left: 9 }, ['another'])
    clock.go(1)
    cache.seen(statusOf({ epoch: 1 }, { buyers: 0, version: 2 }, { buyers: 0 }, { buyers: 0 }), clock.elapsed())
    expect(cache.knows(ITEM, buyer)).toBe(true)
    expect(cache.statusNow(ITEM)).toBeUndefined()
  })

  test('one shard is heard of under a newer epoch: from then on none of them says no by the old one', () => {
    const { clock, cache } = openCache()
    const buyer = buyerOf(2)
    cache.seen(statusOf({ epoch: 1 }, { buyers: 0 }, { buyers: 0 }, { buyers: 0 }), clock.elapsed())
    expect(cache.knows(ITEM, buyer)).toBe(false)
    // Epoch 2 had one shard, and this buyer ordered there; nobody told us.
    cache.reserved(ZERO, { epoch: 3, version: 1, left: 9 }, [buyerOf(0)])
    expect(cache.knows(ITEM, buyer)).toBe(true)
    cache.reserved(ITEM, { epoch: 2, version: 1, left: 9 }, [buyer])
    expect(cache.knows(ITEM, buyer)).toBe(true)
  })

  test('a dropped item is gone in all its shards, gives its room back, and comes back with a higher epoch only', async () => {
    const { clock, cache, reload } = openCache({ buyersMax: 3 })
    cache.seen(statusOf({ epoch: 3 }), clock.elapsed())
    for (const [shard, id] of [ZERO, ONE, TWO].entries())
      cache.reserved(id, { epoch: 3, version: 2, left: 9 }, [buyerOf(shard)])
    cache.drop(ITEM)
    for (const id of [ZERO, ONE, TWO]) cache.reserved(id, { epoch: 3, version: 3, left: 9 }, ['late'])
    cache.seen(statusOf({ epoch: 3 }, { version: 50 }), clock.elapsed())
    expect(cache.statusNow(ITEM)).toBeUndefined()
    expect(cache.knows(ITEM, buyerOf(0, 'stranger'))).toBe(true)
    expect(await reload()).toBeUndefined()
    clock.go(1)
    cache.seen(statusOf({ epoch: 4 }), clock.elapsed())
    for (const [shard, id] of [ZERO, ONE, TWO].entries())
      cache.reserved(id, { epoch: 4, version: 2, left: 9 }, [buyerOf(shard)])
    expect(cache.statusNow(ITEM)).toMatchObject({ epoch: 4, left: 27 })
    expect([0, 1, 2].map(shard => cache.knows(ITEM, buyerOf(shard, 'stranger')))).toEqual([false, false, false])
  })
})
