import { describe, expect, test } from 'bun:test'
import { FRESH_MS, ITEM, openCache, status } from './gate-cache.fixture.ts'

describe('the newest status', () => {
  test('the newer epoch and version wins, in whatever order they arrive', () => {
    const { clock, cache } = openCache()
    cache.seen(status({ epoch: 2, version: 5, left: 3 }), clock.elapsed())
    cache.seen(status({ epoch: 2, version: 4, left: 4 }), clock.elapsed())
    cache.seen(status({ epoch: 1, version: 9, left: 9 }), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ epoch: 2, version: 5, left: 3 })
    cache.reserved(ITEM, { epoch: 2, version: 7, left: 1 }, ['a'])
    cache.reserved(ITEM, { epoch: 2, version: 6, left: 2 }, ['b'])
    expect(cache.statusNow(ITEM)).toMatchObject({ version: 7, left: 1, held: 2 })
  })

  test('is not shown when it was asked for too long ago, however late it arrived, and a message does not renew it', () => {
    const { clock, cache } = openCache()
    const askedAtMs = clock.elapsed()
    clock.go(FRESH_MS - 100)
    cache.seen(status(), askedAtMs)
    expect(cache.statusNow(ITEM)).toBeDefined()
    clock.go(101)
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a'])
    expect(cache.statusNow(ITEM)).toBeUndefined()
    cache.seen(status(), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ version: 2, left: 9 })
  })

  test('is not shown once a newer epoch was heard of', () => {
    const { clock, cache } = openCache()
    cache.seen(status({ left: 0 }), clock.elapsed())
    cache.reserved(ITEM, { epoch: 2, version: 1, left: 5 }, ['a'])
    expect(cache.statusNow(ITEM)).toBeUndefined()
  })

  test('a dropped item comes back with a higher epoch only', () => {
    const { clock, cache } = openCache()
    cache.seen(status({ epoch: 3 }), clock.elapsed())
    cache.drop(ITEM)
    cache.seen(status({ epoch: 3, version: 50 }), clock.elapsed())
    expect(cache.statusNow(ITEM)).toBeUndefined()
    expect(cache.knows(ITEM, 'a')).toBe(true)
    cache.seen(status({ epoch: 4 }), clock.elapsed())
    expect(cache.statusNow(ITEM)).toMatchObject({ epoch: 4 })
  })
})

describe("the gate's clock", () => {
  test('before the first answer it is ours, and an hour of difference is gone with the first', () => {
    const { clock, cache } = openCache()
    expect(cache.nowMs()).toBe(clock.wallMs)
    cache.clockSeen(clock.wallMs - 3_600_000, clock.elapsed(), clock.elapsed())
    expect(cache.nowMs()).toBe(clock.wallMs - 3_600_000)
    clock.go(25)
    expect(cache.nowMs()).toBe(clock.wallMs - 3_600_000 + 25)
  })

  test('the answer that was underway for the shortest time is believed, and it does not step back', () => {
    const { clock, cache } = openCache()
    const askedAtMs = clock.elapsed()
    clock.go(400)
    cache.clockSeen(1_000_390, askedAtMs, clock.elapsed())
    expect(cache.nowMs()).toBe(1_000_590)
    cache.clockSeen(1_000_400, clock.elapsed() - 2, clock.elapsed())
    expect(cache.nowMs()).toBe(1_000_590)
    clock.go(500)
    expect(cache.nowMs()).toBe(1_000_901)
    cache.clockSeen(1_002_000, clock.elapsed() - 300, clock.elapsed())
    expect(cache.nowMs()).toBe(1_000_901)
  })

  test('an answer that was an hour ahead is forgotten with the next that is right, however quick it was', () => {
    const { clock, cache } = openCache()
    cache.clockSeen(1_000_000, clock.elapsed() - 10, clock.elapsed())
    clock.go(250)
    cache.clockSeen(1_000_255 + 3_600_000, clock.elapsed(), clock.elapsed())
    expect(cache.nowMs()).toBe(1_000_255 + 3_600_000)
    clock.go(250)
    cache.clockSeen(1_000_500, clock.elapsed() - 10, clock.elapsed())
    expect(cache.nowMs()).toBe(1_000_505)
  })
})

describe('who has an order', () => {
  test('an item nobody has looked at is a yes to everybody; one without buyers a no', () => {
    const { clock, cache } = openCache()
    expect(cache.knows(ITEM, 'a')).toBe(true)
    cache.reserved(ITEM, { epoch: 1, version: 1, left: 9 }, [])
    expect(cache.knows(ITEM, 'a')).toBe(true)
    cache.seen(status(), clock.elapsed())
    expect(cache.knows(ITEM, 'a')).toBe(false)
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a'])
    expect(cache.knows(ITEM, 'a')).toBe(true)
    expect(cache.knows(ITEM, 'b')).toBe(false)
  })

  test('while the look counts more than were heard of, everybody is a yes; the message that was underway mends it', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status(), clock.elapsed())
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a'])
    cache.seen(status({ version: 3, buyers: 2 }), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(true)
    expect(await reload()).toBeUndefined()
    cache.reserved(ITEM, { epoch: 1, version: 3, left: 8 }, ['b'])
    expect(cache.knows(ITEM, 'z')).toBe(false)
  })

  test('a buyer heard of after the look does not stand in for a buyer it counted', () => {
    const { clock, cache } = openCache()
    cache.seen(status(), clock.elapsed())
    // Our own reply overtakes the message of version 2.
    cache.reserved(ITEM, { epoch: 1, version: 3, left: 8 }, ['late'])
    cache.seen(status({ version: 2, buyers: 1 }), clock.elapsed())
    expect(cache.knows(ITEM, 'early')).toBe(true)
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['early'])
    expect(cache.knows(ITEM, 'z')).toBe(false)
    expect(cache.knows(ITEM, 'early')).toBe(true)
  })

  test('a buyer whose reservation was refused does not stand in for a buyer who is missing', () => {
    const { clock, cache } = openCache()
    cache.seen(status(), clock.elapsed())
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['refused'])
    cache.seen(status({ version: 2, buyers: 1 }), clock.elapsed())
    cache.seen(status({ version: 3, buyers: 0 }), clock.elapsed())
    cache.seen(status({ version: 4, buyers: 1 }), clock.elapsed())
    expect(cache.knows(ITEM, 'missing')).toBe(true)
  })

  test('what stays missing is asked to be reloaded, and then everybody counts again', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status(), clock.elapsed())
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a'])
    cache.seen(status({ version: 4, buyers: 3 }), clock.elapsed())
    clock.go(600)
    expect(
      await reload([
        ['a', 'b'],
        ['c', 'a'],
      ]),
    ).toBe(ITEM)
    expect(await reload()).toBeUndefined()
    expect(cache.knows(ITEM, 'd')).toBe(true)
    clock.go(1)
    cache.seen(status({ version: 4, buyers: 3 }), clock.elapsed())
    expect(['a', 'b', 'c', 'd'].map(buyer => cache.knows(ITEM, buyer))).toEqual([true, true, true, false])
  })

  test('a first status from before a gap proves nothing, although it counts nobody', () => {
    const { clock, cache } = openCache()
    const askedAtMs = clock.elapsed()
    clock.go(1)
    cache.missed()
    cache.seen(status(), askedAtMs)
    expect(cache.knows(ITEM, 'z')).toBe(true)
    clock.go(1)
    cache.seen(status(), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(false)
  })

  test('an item met in the middle of its sale is reloaded at once', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status({ version: 400, buyers: 300 }), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(true)
    expect(await reload()).toBe(ITEM)
  })

  test('after a gap nobody is a no before a reload, unless a later status shows that nothing has happened', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status({ version: 1 }), clock.elapsed())
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a'])
    cache.seen(status({ version: 2, buyers: 1 }), clock.elapsed())
    const beforeMs = clock.elapsed()
    clock.go(1)
    cache.missed()
    expect(cache.knows(ITEM, 'z')).toBe(true)
    cache.seen(status({ version: 2, buyers: 1 }), beforeMs)
    expect(cache.knows(ITEM, 'z')).toBe(true)
    clock.go(1)
    cache.seen(status({ version: 2, buyers: 1 }), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(false)

    cache.missed()
    // A buyer came and a buyer was refused meanwhile: the count is the same, the buyers are not.
    cache.seen(status({ version: 4, buyers: 1 }), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(true)
    expect(await reload([['b']])).toBe(ITEM)
    clock.go(1)
    cache.seen(status({ version: 4, buyers: 1 }), clock.elapsed())
    expect(['a', 'b'].map(buyer => cache.knows(ITEM, buyer))).toEqual([false, true])
  })

  test('a gap during a reload makes the reload worthless', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status({ version: 9, buyers: 2 }), clock.elapsed())
    async function* pages() {
      yield ['a']
      cache.missed()
      yield ['b']
    }
    expect(await reload(pages())).toBe(ITEM)
    clock.go(1)
    cache.seen(status({ version: 9, buyers: 2 }), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(true)
    expect(await reload()).toBe(ITEM)
  })

  test('who is heard of while it is reloaded is in it', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status({ version: 9, buyers: 1 }), clock.elapsed())
    async function* pages() {
      cache.reserved(ITEM, { epoch: 1, version: 10, left: 8 }, ['b'])
      yield ['a']
      cache.reserved(ITEM, { epoch: 1, version: 11, left: 7 }, ['c'])
    }
    expect(await reload(pages())).toBe(ITEM)
    clock.go(1)
    cache.seen(status({ version: 11, buyers: 3 }), clock.elapsed())
    expect(['a', 'b', 'c', 'z'].map(buyer => cache.knows(ITEM, buyer))).toEqual([true, true, true, false])
  })

  test('a reload that fails leaves everything as it was, and can be tried again', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status({ version: 9, buyers: 2 }), clock.elapsed())
    async function* broken() {
      yield ['a']
      throw new Error('away')
    }
    await expect(reload(broken())).rejects.toThrow('away')
    expect(cache.knows(ITEM, 'z')).toBe(true)
    expect(await reload([['a', 'b']])).toBe(ITEM)
    clock.go(1)
    cache.seen(status({ version: 9, buyers: 2 }), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(false)
  })

  test('the next epoch begins with whom the last one ended with; after one that was not seen, nobody is a no', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status(), clock.elapsed())
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a'])
    cache.seen(status({ epoch: 2, version: 1, buyers: 1 }), clock.elapsed())
    expect(['a', 'z'].map(buyer => cache.knows(ITEM, buyer))).toEqual([true, false])
    cache.seen(status({ epoch: 4, version: 1, buyers: 1 }), clock.elapsed())
    expect(cache.knows(ITEM, 'z')).toBe(true)
    expect(await reload([], 4)).toBe(ITEM)
  })

  test('the end of an epoch may still be underway when the next is heard of: nobody is a no before its first status', () => {
    const { clock, cache } = openCache()
    cache.seen(status(), clock.elapsed())
    cache.reserved(ITEM, { epoch: 2, version: 4, left: 9 }, ['b'])
    expect(cache.knows(ITEM, 'underway')).toBe(true)
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['underway'])
    cache.seen(status({ epoch: 2, version: 4, buyers: 2 }), clock.elapsed())
    expect(['underway', 'b', 'z'].map(buyer => cache.knows(ITEM, buyer))).toEqual([true, true, false])
  })

  test('pages of an epoch that is over are not believed', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status({ epoch: 1, version: 9, buyers: 1 }), clock.elapsed())
    async function* pages() {
      yield ['a']
      cache.seen(status({ epoch: 2, version: 1, buyers: 2 }), clock.elapsed())
    }
    expect(await reload(pages())).toBe(ITEM)
    expect(cache.knows(ITEM, 'z')).toBe(true)
  })

  test('a status whose buyers nobody counted leaves everybody a yes and asks for no reload', async () => {
    const { clock, cache, reload } = openCache()
    cache.seen(status({ buyers: Number.MAX_SAFE_INTEGER }), clock.elapsed())
    clock.go(5_000)
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a'])
    expect(cache.knows(ITEM, 'z')).toBe(true)
    expect(await reload()).toBeUndefined()
  })

  test('memory is bounded: what finds no room says yes to everybody, and gives its room back', async () => {
    const { clock, cache, reload } = openCache({ buyersMax: 3 })
    cache.seen(status(), clock.elapsed())
    cache.seen(status({ item: '8' }), clock.elapsed())
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, ['a', 'b'])
    cache.reserved('8', { epoch: 1, version: 2, left: 9 }, ['c', 'd'])
    expect(cache.knows('8', 'z')).toBe(true)
    expect(cache.knows(ITEM, 'z')).toBe(false)
    cache.seen(status({ item: '8', version: 2, buyers: 2 }), clock.elapsed())
    expect(await reload()).toBeUndefined()
    cache.drop(ITEM)
    expect(await reload([['c', 'd']])).toBe('8')
    clock.go(1)
    cache.seen(status({ item: '8', version: 2, buyers: 2 }), clock.elapsed())
    expect(['c', 'd', 'z'].map(buyer => cache.knows('8', buyer))).toEqual([true, true, false])
    cache.reserved('8', { epoch: 1, version: 3, left: 8 }, ['e', 'f'])
    expect(cache.knows('8', 'z')).toBe(true)
    expect(await reload([['c', 'd', 'e', 'f']])).toBe('8')
    clock.go(1)
    cache.seen(status({ item: '8', version: 3, buyers: 4 }), clock.elapsed())
    expect(cache.knows('8', 'z')).toBe(true)
  })
})

describe('whose status is wanted', () => {
  test('no click asks: none, and showing an item is not asking', () => {
    const { cache } = openCache()
    cache.seen(status(), 0)
    cache.shown(ITEM, true)
    expect(cache.wanted()).toEqual([])
  })

  test('an item that clicks ask about, until none has for two seconds', () => {
    const { cache, clock } = openCache()
    cache.seen(status(), 0)
    cache.statusNow(ITEM)
    for (let i = 0; i < 3; i++) expect(cache.wanted()).toEqual([ITEM])
    clock.go(2_000)
    cache.knows(ITEM, 'ann')
    expect(cache.wanted()).toEqual([ITEM])
    clock.go(2_000)
    expect(cache.wanted()).toEqual([])
  })

  test('an item that a message tells of, once', () => {
    const { cache } = openCache()
    cache.seen(status(), 0)
    cache.reserved(ITEM, { epoch: 1, version: 2, left: 9 }, [])
    expect(cache.wanted()).toEqual([ITEM])
    expect(cache.wanted()).toEqual([])
  })

  test('a dropped item is not', () => {
    const { cache } = openCache()
    cache.seen(status(), 0)
    cache.statusNow(ITEM)
    cache.drop(ITEM)
    expect(cache.wanted()).toEqual([])
  })
})

describe('an item whose status was not asked for', () => {
  test('is cold: the first click has it asked for at once, and for half a second the gate is asked instead', () => {
    const { cache, clock } = openCache()
    let asked = 0
    cache.onCold(() => {
      asked += 1
    })
    cache.seen(status({ left: 0 }), 0)
    clock.go(FRESH_MS + 1)
    expect(cache.shown(ITEM, false)).toBeUndefined()
    expect(cache.shown(ITEM, true)).toMatchObject({ left: 0 })
    expect(asked).toBe(0)
    for (let i = 0; i < 2; i++) expect(cache.statusNow(ITEM)).toBeUndefined()
    expect(asked).toBe(1)
    expect(cache.isCold?.(ITEM)).toBe(true)
    clock.go(500)
    // Asked for, and no answer: the gate is away.
    expect(cache.isCold?.(ITEM)).toBe(false)
  })

  test('is not cold but unknown as long as the gate has not shown it under this epoch', () => {
    const { cache } = openCache()
    expect(cache.isCold?.(ITEM)).toBe(false)
    cache.seen(status(), 0)
    cache.reserved(ITEM, { epoch: 2, version: 1, left: 9 }, [])
    expect(cache.isCold?.(ITEM)).toBe(false)
  })
})
