import { describe, expect, test } from 'bun:test'
import { createKeyedHash } from '../../admission/rate/keyed-hash.ts'
import { systemRandom } from '../../base/random.ts'
import type { GateStatus, ShardStatus } from '../gate.ts'
import { placesOf, shardOf } from '../shard-ids.ts'
import { FRESH_MS, handClock, ITEM, look, pagesOf, placeLook } from './gate-cache.fixture.ts'
import { createGateCache } from './gate-cache.ts'

const [ZERO, ONE, TWO] = placesOf(ITEM, 3) as [string, string, string]

function setUp(options: { readonly buyersMax?: number } = {}) {
  const clock = handClock()
  const far = createGateCache({ clock, hash: createKeyedHash(systemRandom), freshMs: FRESH_MS, ...options })
  return { clock, far }
}

/** A look at the item in three places. */
function lookAt(fields: Partial<GateStatus>, ...places: readonly Partial<ShardStatus>[]): GateStatus {
  return look({ ...fields, places: [ZERO, ONE, TWO].map((place, i) => placeLook({ place, ...places[i] })) })
}

function buyerOf(shard: number, name = 'buyer'): string {
  for (let i = 0; ; i++) if (shardOf(`${name}${i}`, 3) === shard) return `${name}${i}`
}

describe('the newest look at an item in several places', () => {
  test('is the sum, and in each place the newer version wins, in whatever order they arrive', () => {
    const { clock, far } = setUp()
    far.seen(lookAt({}, { left: 5 }, { left: 6 }, { left: 7 }), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ item: ITEM, epoch: 1, version: 3, left: 18, held: 0 })
    far.reserved(ONE, 1, 4, 3, ['a'])
    far.reserved(ONE, 1, 3, 4, ['b'])
    expect(far.statusNow(ITEM)).toMatchObject({ version: 6, left: 15, held: 3 })
    // Asked before that message was heard, but after place 2 had sold.
    far.seen(
      lookAt({}, { left: 5 }, { left: 5, version: 2, held: 1 }, { left: 6, version: 2, held: 1 }),
      clock.elapsed(),
    )
    expect(far.statusNow(ITEM)).toMatchObject({ version: 7, left: 14, held: 4 })
    far.seen(lookAt({}, { left: 5 }, { left: 9 }, { left: 9 }), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ version: 7, left: 14 })
  })

  test('is made when something was fed, and not for every question', () => {
    const { clock, far } = setUp()
    far.seen(lookAt({}), clock.elapsed())
    const first = far.statusNow(ITEM)
    expect(far.statusNow(ITEM)).toBe(first!)
    far.reserved(TWO, 1, 2, 9, ['a'])
    expect(far.statusNow(ITEM)).toMatchObject({ left: 29 })
    expect(far.statusNow(ITEM)).toBe(far.statusNow(ITEM)!)
  })

  test('is not shown when it was asked for too long ago, and a message to one place does not renew it', () => {
    const { clock, far } = setUp()
    far.seen(lookAt({}), clock.elapsed())
    clock.go(FRESH_MS + 1)
    for (const place of [ZERO, ONE, TWO]) far.reserved(place, 1, 2, 9, ['a'])
    expect(far.statusNow(ITEM)).toBeUndefined()
    far.seen(lookAt({}), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ left: 27 })
  })

  test('is not shown before all places were looked at, nor once one of them was heard of under a newer epoch', () => {
    const { clock, far } = setUp()
    far.reserved(ZERO, 1, 2, 9, ['a'])
    expect(far.statusNow(ITEM)).toBeUndefined()
    far.seen(lookAt({}, {}, {}, {}), clock.elapsed())
    expect(far.statusNow(ITEM)).toBeDefined()
    far.reserved(TWO, 2, 1, 0, ['b'])
    expect(far.statusNow(ITEM)).toBeUndefined()
    far.seen(lookAt({ epoch: 2 }), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ epoch: 2 })
  })

  test('units that are under way between two places are not sold out', () => {
    const { clock, far } = setUp()
    const [none, gone, come] = [
      { left: 0 },
      { left: 0, version: 2, moveNo: 7, moved: -2 },
      { left: 2, version: 2, moveNo: 7, moved: 2 },
    ]
    far.seen(lookAt({}, none, gone, none), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ left: 2 })
    far.seen(lookAt({}, come, gone, none), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ left: 2 })
    far.reserved(ZERO, 1, 3, 0, ['a', 'b'])
    expect(far.statusNow(ITEM)).toMatchObject({ left: 0 })
  })

  test('nor are units that a move has taken between two messages: what else happened there only a look tells', () => {
    const { clock, far } = setUp()
    const none = { left: 0 }
    far.seen(lookAt({}, none, { left: 2 }, none), clock.elapsed())
    far.reserved(ONE, 1, 2, 1, ['a'])
    expect(far.statusNow(ITEM)).toMatchObject({ left: 1 })
    // Version 3 was a move that took the last unit; this reply of the place took nothing.
    far.reserved(ONE, 1, 3, 0, [])
    expect(far.statusNow(ITEM)).toBeUndefined()
    far.seen(lookAt({}, none, { left: 0, version: 3, moveNo: 1, moved: -1 }, none), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ left: 1 })
    far.seen(
      lookAt({}, { left: 1, version: 2, moveNo: 1, moved: 1 }, { left: 0, version: 3, moveNo: 1, moved: -1 }, none),
      clock.elapsed(),
    )
    far.reserved(ZERO, 1, 3, 0, ['b'])
    expect(far.statusNow(ITEM)).toMatchObject({ left: 0 })
  })

  test('state and window are those of the look that was asked for last, whatever the versions', () => {
    const { clock, far } = setUp()
    far.seen(lookAt({ state: 'paused' }), clock.elapsed())
    far.reserved(ZERO, 1, 9, 3, ['a'])
    clock.go(10)
    far.seen(lookAt({ state: 'open' }, { version: 2 }, { version: 2 }, { version: 2 }), clock.elapsed())
    far.seen(lookAt({ state: 'paused' }), clock.elapsed() - 10)
    expect(far.statusNow(ITEM)).toMatchObject({ state: 'open' })
  })
})

describe('who has an order in one of several places', () => {
  test('a place that misses somebody is a yes to its own buyers, and the others stay a no to strangers', () => {
    const { clock, far } = setUp()
    far.seen(lookAt({}), clock.elapsed())
    expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard)))).toEqual([false, false, false])
    far.reserved(ONE, 1, 2, 9, [buyerOf(1)])
    expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard)))).toEqual([false, true, false])
    expect(far.knows(ITEM, buyerOf(1, 'stranger'))).toBe(false)
    far.seen(lookAt({ buyers: 2 }, { version: 2, buyers: 1 }, { version: 2, buyers: 1 }, {}), clock.elapsed())
    expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard, 'stranger')))).toEqual([true, false, false])
  })

  test('only the place that misses somebody is reloaded', async () => {
    const { clock, far } = setUp()
    far.seen(lookAt({}), clock.elapsed())
    clock.go(1)
    far.seen(lookAt({}, {}, {}, { version: 5, buyers: 1 }), clock.elapsed())
    clock.go(600)
    expect(far.incomplete()).toEqual([TWO])
    await far.reload(TWO, 1, pagesOf([buyerOf(2)]))
    clock.go(1)
    far.seen(lookAt({}, {}, {}, { version: 5, buyers: 1 }), clock.elapsed())
    expect(far.incomplete()).toEqual([])
    expect(far.knows(ITEM, buyerOf(2))).toBe(true)
    expect(far.knows(ITEM, buyerOf(2, 'stranger'))).toBe(false)
  })

  test('the next epoch in as many places begins with whom the last one ended with', () => {
    const { clock, far } = setUp()
    far.seen(lookAt({}), clock.elapsed())
    far.reserved(ONE, 1, 2, 9, [buyerOf(1)])
    clock.go(1)
    far.seen(lookAt({ epoch: 2 }, {}, { buyers: 1 }, {}), clock.elapsed())
    expect(far.knows(ITEM, buyerOf(1))).toBe(true)
    expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard, 'stranger')))).toEqual([false, false, false])
  })

  test.each(['look', 'message'] as const)(
    'an epoch with another number of places knows nobody when its first %s comes: a yes to everybody',
    async first => {
      const { clock, far } = setUp()
      const buyer = buyerOf(1)
      far.seen(lookAt({}), clock.elapsed())
      far.reserved(ONE, 1, 2, 9, [buyer])
      clock.go(1)
      if (first === 'message') {
        far.reserved(ITEM, 2, 2, 8, [buyerOf(0)])
        expect(far.statusNow(ITEM)).toBeUndefined()
        expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard)))).toEqual([true, true, true])
      }
      far.seen(look({ epoch: 2, version: 2, buyers: 2, left: 8 }), clock.elapsed())
      expect(far.statusNow(ITEM)).toMatchObject({ epoch: 2, left: 8 })
      expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard)))).toEqual([true, true, true])
      // Late word of the old places changes nothing.
      far.reserved(ONE, 1, 3, 0, ['late'])
      far.seen(lookAt({ left: 0 }, { version: 9, left: 0 }), clock.elapsed())
      expect(far.statusNow(ITEM)).toMatchObject({ epoch: 2, left: 8 })
      clock.go(600)
      expect(far.incomplete()).toEqual([ITEM])
      await far.reload(ITEM, 2, pagesOf([buyer, buyerOf(0)]))
      clock.go(1)
      far.seen(look({ epoch: 2, version: 2, buyers: 2 }), clock.elapsed())
      expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard)))).toEqual([true, true, false])
      // And back into several.
      far.reserved(TWO, 3, 1, 4, ['new'])
      expect(far.statusNow(ITEM)).toBeUndefined()
      expect(far.knows(ITEM, buyerOf(2))).toBe(true)
    },
  )

  test('a look from before the item was in one place and in several again proves nothing of those', () => {
    const { clock, far } = setUp()
    far.seen(lookAt({ epoch: 1 }, { buyers: 0 }, { buyers: 0 }, { buyers: 0 }), clock.elapsed())
    const buyer = buyerOf(0)
    far.reserved(ITEM, 3, 1, 9, [buyer])
    far.reserved(ONE, 5, 1, 9, ['another'])
    clock.go(1)
    far.seen(lookAt({ epoch: 1 }, { buyers: 0, version: 2 }, { buyers: 0 }, { buyers: 0 }), clock.elapsed())
    expect(far.knows(ITEM, buyer)).toBe(true)
    expect(far.statusNow(ITEM)).toBeUndefined()
  })

  test('one place is heard of under a newer epoch: from then on none of them says no by the old one', () => {
    const { clock, far } = setUp()
    const buyer = buyerOf(2)
    far.seen(lookAt({ epoch: 1 }, { buyers: 0 }, { buyers: 0 }, { buyers: 0 }), clock.elapsed())
    expect(far.knows(ITEM, buyer)).toBe(false)
    // Epoch 2 had one place, and this buyer ordered there; nobody told us.
    far.reserved(ZERO, 3, 1, 9, [buyerOf(0)])
    expect(far.knows(ITEM, buyer)).toBe(true)
    far.reserved(ITEM, 2, 1, 9, [buyer])
    expect(far.knows(ITEM, buyer)).toBe(true)
  })

  test('a dropped item is gone in all its places, gives its room back, and comes back with a higher epoch only', () => {
    const { clock, far } = setUp({ buyersMax: 3 })
    far.seen(lookAt({ epoch: 3 }), clock.elapsed())
    for (const [shard, place] of [ZERO, ONE, TWO].entries()) far.reserved(place, 3, 2, 9, [buyerOf(shard)])
    far.drop(ITEM)
    for (const place of [ZERO, ONE, TWO]) far.reserved(place, 3, 3, 9, ['late'])
    far.seen(lookAt({ epoch: 3 }, { version: 50 }), clock.elapsed())
    expect(far.statusNow(ITEM)).toBeUndefined()
    expect(far.knows(ITEM, buyerOf(0, 'stranger'))).toBe(true)
    expect(far.incomplete()).toEqual([])
    clock.go(1)
    far.seen(lookAt({ epoch: 4 }), clock.elapsed())
    for (const [shard, place] of [ZERO, ONE, TWO].entries()) far.reserved(place, 4, 2, 9, [buyerOf(shard)])
    expect(far.statusNow(ITEM)).toMatchObject({ epoch: 4, left: 27 })
    expect([0, 1, 2].map(shard => far.knows(ITEM, buyerOf(shard, 'stranger')))).toEqual([false, false, false])
  })
})
