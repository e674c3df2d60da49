import { describe, expect, test } from 'bun:test'
import { createKeyedHash } from '../../admission/rate/keyed-hash.ts'
import { systemRandom } from '../../base/random.ts'
import { FRESH_MS, handClock, ITEM, look, pagesOf } from './gate-cache.fixture.ts'
import { createGateCache } from './gate-cache.ts'

function setUp(options: { readonly buyersMax?: number } = {}) {
  const clock = handClock()
  const far = createGateCache({ clock, hash: createKeyedHash(systemRandom), freshMs: FRESH_MS, ...options })
  return { clock, far }
}

describe('the newest look', () => {
  test('the newer epoch and version wins, in whatever order they arrive', () => {
    const { clock, far } = setUp()
    far.seen(look({ epoch: 2, version: 5, left: 3 }), clock.elapsed())
    far.seen(look({ epoch: 2, version: 4, left: 4 }), clock.elapsed())
    far.seen(look({ epoch: 1, version: 9, left: 9 }), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ epoch: 2, version: 5, left: 3 })
    far.reserved(ITEM, 2, 7, 1, ['a'])
    far.reserved(ITEM, 2, 6, 2, ['b'])
    expect(far.statusNow(ITEM)).toMatchObject({ version: 7, left: 1, held: 2 })
  })

  test('is not shown when it was asked for too long ago, however late it arrived, and a message does not renew it', () => {
    const { clock, far } = setUp()
    const askedAtMs = clock.elapsed()
    clock.go(FRESH_MS - 100)
    far.seen(look(), askedAtMs)
    expect(far.statusNow(ITEM)).toBeDefined()
    clock.go(101)
    far.reserved(ITEM, 1, 2, 9, ['a'])
    expect(far.statusNow(ITEM)).toBeUndefined()
    far.seen(look(), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ version: 2, left: 9 })
  })

  test('is not shown once a newer epoch was heard of', () => {
    const { clock, far } = setUp()
    far.seen(look({ left: 0 }), clock.elapsed())
    far.reserved(ITEM, 2, 1, 5, ['a'])
    expect(far.statusNow(ITEM)).toBeUndefined()
  })

  test('a dropped item comes back with a higher epoch only', () => {
    const { clock, far } = setUp()
    far.seen(look({ epoch: 3 }), clock.elapsed())
    far.drop(ITEM)
    far.seen(look({ epoch: 3, version: 50 }), clock.elapsed())
    expect(far.statusNow(ITEM)).toBeUndefined()
    expect(far.knows(ITEM, 'a')).toBe(true)
    far.seen(look({ epoch: 4 }), clock.elapsed())
    expect(far.statusNow(ITEM)).toMatchObject({ epoch: 4 })
  })
})

describe("the gate's clock", () => {
  test('before the first answer it is ours, and an hour of difference is gone with the first', () => {
    const { clock, far } = setUp()
    expect(far.nowMs()).toBe(clock.wallMs)
    far.clockSeen(clock.wallMs - 3_600_000, clock.elapsed(), clock.elapsed())
    expect(far.nowMs()).toBe(clock.wallMs - 3_600_000)
    clock.go(25)
    expect(far.nowMs()).toBe(clock.wallMs - 3_600_000 + 25)
  })

  test('the answer that was underway for the shortest time is believed, and it does not step back', () => {
    const { clock, far } = setUp()
    const askedAtMs = clock.elapsed()
    clock.go(400)
    far.clockSeen(1_000_390, askedAtMs, clock.elapsed())
    expect(far.nowMs()).toBe(1_000_590)
    far.clockSeen(1_000_400, clock.elapsed() - 2, clock.elapsed())
    expect(far.nowMs()).toBe(1_000_590)
    clock.go(500)
    expect(far.nowMs()).toBe(1_000_901)
    far.clockSeen(1_002_000, clock.elapsed() - 300, clock.elapsed())
    expect(far.nowMs()).toBe(1_000_901)
  })

  test('an answer that was an hour ahead is forgotten with the next that is right, however quick it was', () => {
    const { clock, far } = setUp()
    far.clockSeen(1_000_000, clock.elapsed() - 10, clock.elapsed())
    clock.go(250)
    far.clockSeen(1_000_255 + 3_600_000, clock.elapsed(), clock.elapsed())
    expect(far.nowMs()).toBe(1_000_255 + 3_600_000)
    clock.go(250)
    far.clockSeen(1_000_500, clock.elapsed() - 10, clock.elapsed())
    expect(far.nowMs()).toBe(1_000_505)
  })
})

describe('who has an order', () => {
  test('an item nobody has looked at is a yes to everybody; one without buyers a no', () => {
    const { clock, far } = setUp()
    expect(far.knows(ITEM, 'a')).toBe(true)
    far.reserved(ITEM, 1, 1, 9, [])
    expect(far.knows(ITEM, 'a')).toBe(true)
    far.seen(look(), clock.elapsed())
    expect(far.knows(ITEM, 'a')).toBe(false)
    far.reserved(ITEM, 1, 2, 9, ['a'])
    expect(far.knows(ITEM, 'a')).toBe(true)
    expect(far.knows(ITEM, 'b')).toBe(false)
  })

  test('while the look counts more than were heard of, everybody is a yes; the message that was underway mends it', () => {
    const { clock, far } = setUp()
    far.seen(look(), clock.elapsed())
    far.reserved(ITEM, 1, 2, 9, ['a'])
    far.seen(look({ version: 3, buyers: 2 }), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(true)
    expect(far.incomplete()).toEqual([])
    far.reserved(ITEM, 1, 3, 8, ['b'])
    expect(far.knows(ITEM, 'z')).toBe(false)
  })

  test('somebody heard of after the look does not stand in for somebody it counted', () => {
    const { clock, far } = setUp()
    far.seen(look(), clock.elapsed())
    // Our own reply overtakes the message of version 2.
    far.reserved(ITEM, 1, 3, 8, ['late'])
    far.seen(look({ version: 2, buyers: 1 }), clock.elapsed())
    expect(far.knows(ITEM, 'early')).toBe(true)
    far.reserved(ITEM, 1, 2, 9, ['early'])
    expect(far.knows(ITEM, 'z')).toBe(false)
    expect(far.knows(ITEM, 'early')).toBe(true)
  })

  test('somebody whose reservation was refused does not stand in for somebody who is missing', () => {
    const { clock, far } = setUp()
    far.seen(look(), clock.elapsed())
    far.reserved(ITEM, 1, 2, 9, ['refused'])
    far.seen(look({ version: 2, buyers: 1 }), clock.elapsed())
    far.seen(look({ version: 3, buyers: 0 }), clock.elapsed())
    far.seen(look({ version: 4, buyers: 1 }), clock.elapsed())
    expect(far.knows(ITEM, 'missing')).toBe(true)
  })

  test('what stays missing is asked to be reloaded, and then everybody counts again', async () => {
    const { clock, far } = setUp()
    far.seen(look(), clock.elapsed())
    far.reserved(ITEM, 1, 2, 9, ['a'])
    far.seen(look({ version: 4, buyers: 3 }), clock.elapsed())
    clock.go(600)
    expect(far.incomplete()).toEqual([ITEM])
    await far.reload(ITEM, 1, pagesOf(['a', 'b'], ['c', 'a']))
    expect(far.incomplete()).toEqual([])
    expect(far.knows(ITEM, 'd')).toBe(true)
    clock.go(1)
    far.seen(look({ version: 4, buyers: 3 }), clock.elapsed())
    expect(['a', 'b', 'c', 'd'].map(buyer => far.knows(ITEM, buyer))).toEqual([true, true, true, false])
  })

  test('a first look from before a gap proves nothing, although it counts nobody', () => {
    const { clock, far } = setUp()
    const askedAtMs = clock.elapsed()
    clock.go(1)
    far.missed()
    far.seen(look(), askedAtMs)
    expect(far.knows(ITEM, 'z')).toBe(true)
    clock.go(1)
    far.seen(look(), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(false)
  })

  test('an item met in the middle of its sale is reloaded at once', () => {
    const { clock, far } = setUp()
    far.seen(look({ version: 400, buyers: 300 }), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(true)
    expect(far.incomplete()).toEqual([ITEM])
  })

  test('after a gap nobody is a no before a reload, unless a later look shows that nothing has happened', async () => {
    const { clock, far } = setUp()
    far.seen(look({ version: 1 }), clock.elapsed())
    far.reserved(ITEM, 1, 2, 9, ['a'])
    far.seen(look({ version: 2, buyers: 1 }), clock.elapsed())
    const beforeMs = clock.elapsed()
    clock.go(1)
    far.missed()
    expect(far.knows(ITEM, 'z')).toBe(true)
    far.seen(look({ version: 2, buyers: 1 }), beforeMs)
    expect(far.knows(ITEM, 'z')).toBe(true)
    clock.go(1)
    far.seen(look({ version: 2, buyers: 1 }), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(false)

    far.missed()
    // Somebody came and somebody was refused meanwhile: the count is the same, the buyers are not.
    far.seen(look({ version: 4, buyers: 1 }), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(true)
    expect(far.incomplete()).toEqual([ITEM])
    await far.reload(ITEM, 1, pagesOf(['b']))
    clock.go(1)
    far.seen(look({ version: 4, buyers: 1 }), clock.elapsed())
    expect(['a', 'b'].map(buyer => far.knows(ITEM, buyer))).toEqual([false, true])
  })

  test('a gap during a reload makes the reload worthless', async () => {
    const { clock, far } = setUp()
    far.seen(look({ version: 9, buyers: 2 }), clock.elapsed())
    async function* pages() {
      yield ['a']
      far.missed()
      yield ['b']
    }
    await far.reload(ITEM, 1, pages())
    clock.go(1)
    far.seen(look({ version: 9, buyers: 2 }), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(true)
    expect(far.incomplete()).toEqual([ITEM])
  })

  test('who is heard of while it is reloaded is in it', async () => {
    const { clock, far } = setUp()
    far.seen(look({ version: 9, buyers: 1 }), clock.elapsed())
    async function* pages() {
      far.reserved(ITEM, 1, 10, 8, ['b'])
      yield ['a']
      far.reserved(ITEM, 1, 11, 7, ['c'])
    }
    await far.reload(ITEM, 1, pages())
    clock.go(1)
    far.seen(look({ version: 11, buyers: 3 }), clock.elapsed())
    expect(['a', 'b', 'c', 'z'].map(buyer => far.knows(ITEM, buyer))).toEqual([true, true, true, false])
  })

  test('a reload that fails leaves everything as it was, and can be tried again', async () => {
    const { clock, far } = setUp()
    far.seen(look({ version: 9, buyers: 2 }), clock.elapsed())
    async function* broken() {
      yield ['a']
      throw new Error('away')
    }
    await expect(far.reload(ITEM, 1, broken())).rejects.toThrow('away')
    expect(far.knows(ITEM, 'z')).toBe(true)
    await far.reload(ITEM, 1, pagesOf(['a', 'b']))
    clock.go(1)
    far.seen(look({ version: 9, buyers: 2 }), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(false)
  })

  test('the next epoch begins with whom the last one ended with; after one that was not seen, nobody is a no', () => {
    const { clock, far } = setUp()
    far.seen(look(), clock.elapsed())
    far.reserved(ITEM, 1, 2, 9, ['a'])
    far.seen(look({ epoch: 2, version: 1, buyers: 1 }), clock.elapsed())
    expect(['a', 'z'].map(buyer => far.knows(ITEM, buyer))).toEqual([true, false])
    far.seen(look({ epoch: 4, version: 1, buyers: 1 }), clock.elapsed())
    expect(far.knows(ITEM, 'z')).toBe(true)
    expect(far.incomplete()).toEqual([ITEM])
  })

  test('the end of an epoch may still be underway when the next is heard of: nobody is a no before its first look', () => {
    const { clock, far } = setUp()
    far.seen(look(), clock.elapsed())
    far.reserved(ITEM, 2, 4, 9, ['b'])
    expect(far.knows(ITEM, 'underway')).toBe(true)
    far.reserved(ITEM, 1, 2, 9, ['underway'])
    far.seen(look({ epoch: 2, version: 4, buyers: 2 }), clock.elapsed())
    expect(['underway', 'b', 'z'].map(buyer => far.knows(ITEM, buyer))).toEqual([true, true, false])
  })

  test('pages of an epoch that is over are not believed', async () => {
    const { clock, far } = setUp()
    far.seen(look({ epoch: 1, version: 9, buyers: 1 }), clock.elapsed())
    async function* pages() {
      yield ['a']
      far.seen(look({ epoch: 2, version: 1, buyers: 2 }), clock.elapsed())
    }
    await far.reload(ITEM, 1, pages())
    expect(far.knows(ITEM, 'z')).toBe(true)
  })

  test('a look whose buyers nobody counted leaves everybody a yes and asks for no reload', () => {
    const { clock, far } = setUp()
    far.seen(look({ buyers: Number.MAX_SAFE_INTEGER }), clock.elapsed())
    clock.go(5_000)
    far.reserved(ITEM, 1, 2, 9, ['a'])
    expect(far.knows(ITEM, 'z')).toBe(true)
    expect(far.incomplete()).toEqual([])
  })

  test('memory is bounded: what finds no room says yes to everybody, and gives its room back', async () => {
    const { clock, far } = setUp({ buyersMax: 3 })
    far.seen(look(), clock.elapsed())
    far.seen(look({ item: '8' }), clock.elapsed())
    far.reserved(ITEM, 1, 2, 9, ['a', 'b'])
    far.reserved('8', 1, 2, 9, ['c', 'd'])
    expect(far.knows('8', 'z')).toBe(true)
    expect(far.knows(ITEM, 'z')).toBe(false)
    far.seen(look({ item: '8', version: 2, buyers: 2 }), clock.elapsed())
    expect(far.incomplete()).toEqual([])
    far.drop(ITEM)
    expect(far.incomplete()).toEqual(['8'])
    await far.reload('8', 1, pagesOf(['c', 'd']))
    clock.go(1)
    far.seen(look({ item: '8', version: 2, buyers: 2 }), clock.elapsed())
    expect(['c', 'd', 'z'].map(buyer => far.knows('8', buyer))).toEqual([true, true, false])
    far.reserved('8', 1, 3, 8, ['e', 'f'])
    expect(far.knows('8', 'z')).toBe(true)
    await far.reload('8', 1, pagesOf(['c', 'd', 'e', 'f']))
    clock.go(1)
    far.seen(look({ item: '8', version: 3, buyers: 4 }), clock.elapsed())
    expect(far.knows('8', 'z')).toBe(true)
  })
})
