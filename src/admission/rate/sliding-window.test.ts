import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { seededRandom, systemRandom } from '../../base/random.ts'
import type { Rate } from '../rate-limit-policy.ts'
import { createSlidingWindow } from './sliding-window.ts'

const newSeed = () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  return seed
}

const window = (count: number, windowMs: number, { keysMax = 64, exactMax = 10_000, seed = 1 } = {}) =>
  createSlidingWindow({ count, windowMs }, keysMax, exactMax, seededRandom(seed))

function ask(limit: ReturnType<typeof createSlidingWindow>, key: string, nowMs: number): boolean {
  const admitted = limit.hasRoom(key, nowMs)
  if (admitted) limit.take()
  return admitted
}

/** The definition, by the plain road: every admission of every key, for ever. */
function reference({ count, windowMs }: Rate) {
  const admissions = new Map<string, number[]>()
  const within = (key: string, nowMs: number, spanMs: number) =>
    (admissions.get(key) ?? []).filter(atMs => nowMs - atMs < spanMs)
  return {
    hasRoom: (key: string, nowMs: number) => within(key, nowMs, windowMs).length < count,
    countWithin: (key: string, nowMs: number, spanMs: number) => within(key, nowMs, spanMs).length,
    waitMs: (key: string, nowMs: number) => within(key, nowMs, windowMs)[0]! + windowMs - nowMs,
    take: (key: string, nowMs: number) => admissions.set(key, [...(admissions.get(key) ?? []), nowMs]),
  }
}

const WINDOW_MS = 1000
/** Steps that fall on the edges of windows and beside them more often than chance would. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 300 }) },
  { weight: 2, arbitrary: fc.constantFrom(1, 249, 250, 251, 333, 499, 500, 999, 1000, 1001, 1250, 2000) },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 500, noNaN: true }) },
)
const story = (keys: number) =>
  fc.array(fc.tuple(step, fc.integer({ min: 0, max: keys - 1 }).map(String)), {
    minLength: 1,
    maxLength: 300,
    size: 'max',
  })

describe('a sliding window, while every key has a slot', () => {
  test('admits the last of the count and refuses the next, to the request, until the very millisecond the first is a window old', () => {
    for (const count of [1, 2, 5, 100, 1000]) {
      const limit = window(count, WINDOW_MS)
      for (let n = 0; n < count; n++) expect(ask(limit, 'a', 50)).toBe(true)
      expect(ask(limit, 'a', 50)).toBe(false)
      expect(ask(limit, 'a', 50 + WINDOW_MS - 1)).toBe(false)
      expect(ask(limit, 'a', 50 + WINDOW_MS - 0.001)).toBe(false)
      for (let n = 0; n < count; n++) expect(ask(limit, 'a', 50 + WINDOW_MS)).toBe(true)
      expect(ask(limit, 'a', 50 + WINDOW_MS)).toBe(false)
    }
  })

  test('does not admit twice the count around the edge of a window', () => {
    const limit = window(10, WINDOW_MS)
    const admitted = [0, 990, 1010].map(atMs => Array.from({ length: 10 }, () => ask(limit, 'a', atMs)).filter(Boolean))
    expect(admitted.map(all => all.length)).toEqual([10, 0, 10])
    const late = window(10, WINDOW_MS)
    expect(Array.from({ length: 20 }, (_, n) => ask(late, 'a', n < 10 ? 990 : 1010)).filter(Boolean)).toHaveLength(10)
  })

  test('never refuses a key that sends exactly the count per window at a steady pace', () => {
    for (const [count, everyMs] of [
      [4, 250],
      [100, 10],
      [1000, 1],
    ] as const) {
      const limit = window(count, WINDOW_MS)
      for (let n = 0; n < count * 5; n++) expect(ask(limit, 'a', n * everyMs)).toBe(true)
    }
  })

  test('does not count a refused request: a key that hammers is admitted again as soon as one that waits', () => {
    const limit = window(2, WINDOW_MS)
    ask(limit, 'a', 0)
    ask(limit, 'a', 500)
    for (let atMs = 501; atMs < 1000; atMs++) expect(ask(limit, 'a', atMs)).toBe(false)
    expect([ask(limit, 'a', 1000), ask(limit, 'a', 1000), ask(limit, 'a', 1500)]).toEqual([true, false, true])
  })

  test('answers as the definition does, with the same wait, in any story', () => {
    const seed = newSeed()
    const property = fc.property(fc.integer({ min: 1, max: 6 }), story(8), fc.integer(), (count, asks, tableSeed) => {
      const limit = window(count, WINDOW_MS, { keysMax: 8, exactMax: 400, seed: tableSeed })
      const exact = reference({ count, windowMs: WINDOW_MS })
      let nowMs = 0
      for (const [stepMs, key] of asks) {
        nowMs += stepMs
        const admitted = limit.hasRoom(key, nowMs)
        expect(admitted).toBe(exact.hasRoom(key, nowMs))
        if (admitted) {
          limit.take()
          exact.take(key, nowMs)
        } else expect(limit.waitMs()).toBeCloseTo(exact.waitMs(key, nowMs), 6)
      }
    })
    fc.assert(property, { seed, numRuns: 400 })
  })
})

describe('a sliding window at its bounds', () => {
  test('never admits more than the count in any window, however many keys and however short its log', () => {
    const seed = newSeed()
    const bounds = fc.record({ keysMax: fc.constantFrom(1, 2, 4, 32), exactMax: fc.constantFrom(1, 4, 64) })
    const property = fc.property(fc.integer({ min: 1, max: 6 }), bounds, story(12), (count, given, asks) => {
      const limit = window(count, WINDOW_MS, given)
      const exact = reference({ count, windowMs: WINDOW_MS })
      let nowMs = 0
      for (const [stepMs, key] of asks) {
        nowMs += stepMs
        const admitted = limit.hasRoom(key, nowMs)
        if (!admitted) {
          expect(limit.waitMs()).toBeLessThanOrEqual(WINDOW_MS * 1.25)
          continue
        }
        expect(exact.hasRoom(key, nowMs)).toBe(true)
        limit.take()
        exact.take(key, nowMs)
      }
    })
    fc.assert(property, { seed, numRuns: 600 })
  })

  test('with its log full, refuses only a key that had the count in a window and a quarter', () => {
    const seed = newSeed()
    const property = fc.property(fc.integer({ min: 1, max: 6 }), story(8), (count, asks) => {
      const limit = window(count, WINDOW_MS, { keysMax: 8, exactMax: 1 })
      const exact = reference({ count, windowMs: WINDOW_MS })
      let nowMs = 0
      for (const [stepMs, key] of asks) {
        nowMs += stepMs
        if (ask(limit, key, nowMs)) exact.take(key, nowMs)
        else expect(exact.countWithin(key, nowMs, WINDOW_MS * 1.25)).toBeGreaterThanOrEqual(count)
      }
    })
    fc.assert(property, { seed, numRuns: 400 })
  })

  test('has room in its log for the worst that all its keys together can do', () => {
    const limit = window(1_000_000, WINDOW_MS, { keysMax: 16, exactMax: 1 })
    for (let nowMs = 0; nowMs < 3 * WINDOW_MS; nowMs += 1)
      for (let key = 0; key < 18; key++) expect(ask(limit, `${key}`, nowMs)).toBe(true)
  })

  test('keys with a slot are not affected by new keys that fill the table', () => {
    const limit = window(5, WINDOW_MS, { keysMax: 16, exactMax: 100_000 })
    const exact = reference({ count: 5, windowMs: WINDOW_MS })
    const chance = seededRandom(newSeed())
    let refusedStrangers = 0
    for (let nowMs = 0; nowMs < 10_000; nowMs += 10) {
      // Seated from the first millisecond and never silent for a window.
      if (nowMs % 150 === 0 || chance.next() < 0.1) {
        const admitted = ask(limit, 'honest', nowMs)
        expect(admitted).toBe(exact.hasRoom('honest', nowMs))
        if (admitted) exact.take('honest', nowMs)
      }
      for (let n = 0; n < 3; n++) if (!ask(limit, `stranger ${chance.next()}`, nowMs)) refusedStrangers += 1
    }
    expect(refusedStrangers).toBeGreaterThan(1000)
  })

  test('gives newcomers to a full table the count to share, and their own again a window after slots are free', () => {
    const limit = window(3, WINDOW_MS, { keysMax: 16 })
    for (let n = 0; n < 16; n++) expect(ask(limit, `seated ${n}`, 0)).toBe(true)
    expect(['x', 'y', 'z', 'v', 'x'].map(key => ask(limit, key, 500))).toEqual([true, true, true, false, false])
    // All sixteen have left, but x, y or z may be anyone whose share is still in its window.
    expect(ask(limit, 'x', 1499)).toBe(false)
    expect(limit.waitMs()).toBe(1)
    expect(['x', 'x', 'x', 'x'].map(key => ask(limit, key, 1500))).toEqual([true, true, true, false])
    expect(['v', 'v', 'v', 'v'].map(key => ask(limit, key, 1500))).toEqual([true, true, true, false])
  })

  test('with a long window and a huge count, a place comes free late by a thousandth of it at most, and never early', () => {
    const [count, windowMs, everyMs] = [50_000, 3_600_000, 72]
    const limit = window(count, windowMs, { keysMax: 1, exactMax: 4096 })
    const admissions: number[] = []
    let refused = 0
    for (let nowMs = 0; nowMs < 3 * windowMs; nowMs += everyMs) {
      const before = nowMs - (admissions.at(-count) ?? Number.NEGATIVE_INFINITY)
      if (ask(limit, '', nowMs)) {
        if (before < windowMs) throw new Error(`admitted ${count} and one more within ${before} ms`)
        admissions.push(nowMs)
      } else {
        refused += 1
        if (before >= windowMs * (1 + 1 / 1024)) throw new Error(`refused with ${count} in ${before} ms`)
      }
    }
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(count / 250)
  })
})

describe('what a sliding window tells of a key', () => {
  test('is all that counts, oldest first, in as few slices as asked for, none of them younger than what is in it', () => {
    const seed = newSeed()
    const bounds = fc.record({ keysMax: fc.constantFrom(1, 2, 32), exactMax: fc.constantFrom(1, 4, 10_000) })
    const property = fc.property(bounds, story(4), fc.integer({ min: 1, max: 6 }), (given, asks, piecesMax) => {
      const limit = window(1_000, WINDOW_MS, given)
      const exact = reference({ count: 1_000, windowMs: WINDOW_MS })
      let nowMs = 0
      for (const [stepMs, key] of asks) {
        nowMs += stepMs
        limit.hasRoom(key, nowMs)
        const told = limit.recent(piecesMax)
        expect(told.length).toBeLessThanOrEqual(piecesMax)
        expect(told.map(({ ageMs }) => ageMs)).toEqual(told.map(({ ageMs }) => ageMs).toSorted((a, b) => b - a))
        for (const spanMs of [100, 250, 500, WINDOW_MS]) {
          const young = told.filter(({ ageMs }) => ageMs < spanMs).reduce((sum, { units }) => sum + units, 0)
          expect(young).toBeGreaterThanOrEqual(exact.countWithin(key, nowMs, spanMs))
        }
        limit.take()
        exact.take(key, nowMs)
      }
    })
    fc.assert(property, { seed, numRuns: 200 })
  })

  test('a part of the count is a limit as good as the whole', () => {
    const limit = window(10, WINDOW_MS)
    for (let n = 0; n < 4; n++) ask(limit, 'a', n)
    expect([limit.hasRoom('a', 10, 5), limit.hasRoom('a', 10, 4), limit.hasRoom('a', 10, 0)]).toEqual([
      true,
      false,
      false,
    ])
  })
})
