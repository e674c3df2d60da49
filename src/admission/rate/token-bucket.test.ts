import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { createTokenBucket } from './token-bucket.ts'

const newSeed = () => {
  const seed = Math.floor(systemRandom.next() * 2 ** 31)
  console.log(`seed ${seed}`)
  return seed
}

const bucket = (count: number, windowMs: number, burst: number, { keysMax = 64, edges = 1, seed = 1 } = {}) =>
  createTokenBucket({ count, windowMs, burst }, keysMax, seededRandom(seed), () => edges)

function ask(limit: ReturnType<typeof createTokenBucket>, key: string, nowMs: number): boolean {
  const admitted = limit.hasRoom(key, nowMs)
  if (admitted) limit.take()
  return admitted
}

describe('a bucket', () => {
  test('holds the burst, and one more flows back in its time and not a moment before', () => {
    const limit = bucket(10, 1_000, 3)
    expect([0, 0, 0, 0].map(ms => ask(limit, 'a', ms))).toEqual([true, true, true, false])
    expect(limit.waitMs()).toBeCloseTo(100, 6)
    expect([99, 100, 100].map(ms => ask(limit, 'a', ms))).toEqual([false, true, false])
    expect([10_000, 10_000, 10_000, 10_000].map(ms => ask(limit, 'a', ms))).toEqual([true, true, true, false])
  })

  test('never refuses a key that keeps to the rate, and does not count refusals', () => {
    const limit = bucket(10, 1_000, 1)
    for (let n = 0; n < 50; n++) {
      expect(ask(limit, 'a', n * 100)).toBe(true)
      for (let ms = 1; ms < 100; ms += 20) expect(ask(limit, 'a', n * 100 + ms)).toBe(false)
    }
  })

  test('answers as the definition does in any story, with slots for all keys', () => {
    const step = fc.tuple(fc.constantFrom(0, 0, 1, 10, 99, 100, 101, 500, 3_000), fc.constantFrom('a', 'b', 'c', 'd'))
    const terms = fc.record({ burst: fc.integer({ min: 1, max: 6 }), edges: fc.integer({ min: 1, max: 3 }) })
    const stories = fc.array(step, { maxLength: 200, size: 'max' })
    const property = fc.property(terms, stories, fc.integer(), ({ burst, edges }, story, seed) => {
      const limit = bucket(10, 1_000, burst, { keysMax: 4, edges, seed })
      const used = new Map<string, { units: number; atMs: number }>()
      let nowMs = 0
      for (const [stepMs, key] of story) {
        nowMs += stepMs
        const last = used.get(key) ?? { units: 0, atMs: nowMs }
        const units = Math.max(0, last.units - ((nowMs - last.atMs) * 0.01) / edges)
        const admitted = ask(limit, key, nowMs)
        expect(admitted).toBe(units + 1 <= burst + 1e-6)
        used.set(key, { units: admitted ? units + 1 : units, atMs: nowMs })
      }
    })
    fc.assert(property, { seed: newSeed(), numRuns: 300 })
  })

  test('at its bounds never admits more of a key than the burst and what flowed back', () => {
    const step = fc.tuple(fc.constantFrom(0, 0, 1, 50, 100, 1_000), fc.integer({ min: 0, max: 40 }))
    const property = fc.property(fc.array(step, { maxLength: 300, size: 'max' }), fc.integer(), (story, seed) => {
      const limit = bucket(10, 1_000, 3, { keysMax: 2, seed })
      const admitted = new Map<number, number[]>()
      let nowMs = 0
      for (const [stepMs, key] of story) {
        nowMs += stepMs
        if (!ask(limit, `key ${key}`, nowMs)) continue
        const all = [...(admitted.get(key) ?? []), nowMs]
        admitted.set(key, all)
        for (const [i, fromMs] of all.entries())
          expect(all.length - i).toBeLessThanOrEqual(3 + (nowMs - fromMs) * 0.01 + 1e-6)
      }
    })
    fc.assert(property, { seed: newSeed(), numRuns: 300 })
  })

  test('tells what it has used up of the whole, and of a part no more than the part', () => {
    const limit = bucket(40, 1_000, 8, { edges: 4 })
    limit.hasRoom('a', 0, 2)
    expect(limit.recent(32)).toEqual([])
    for (let n = 0; n < 5; n++) {
      limit.hasRoom('a', 0, 2)
      limit.take()
    }
    expect(limit.recent(32)).toEqual([{ ageMs: 0, units: 5 }])
    // Of the whole four flowed back, of the part one.
    limit.hasRoom('a', 100, 2)
    expect(limit.recent(32)).toEqual([{ ageMs: 0, units: 2 }])
  })
})
