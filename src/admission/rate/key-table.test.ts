import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { Bug } from '../../base/assert.ts'
import { seededRandom, systemRandom } from '../../base/random.ts'
import { createKeyTable } from './key-table.ts'
import { createKeyedHash } from './keyed-hash.ts'

describe('a key table', () => {
  test('finds every key it holds and no other, through any adding and removing', () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const moves = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 40 })), { maxLength: 400, size: 'max' })
    const property = fc.property(moves, fc.integer(), (story, tableSeed) => {
      const table = createKeyTable(16, seededRandom(tableSeed))
      const model = new Map<string, number>()
      for (const [adds, number] of story) {
        const key = `key ${number}`
        const slot = table.find(key)
        expect(slot).toBe(model.get(key) ?? -1)
        if (adds && slot < 0 && !table.isFull) {
          const given = table.add()
          expect([...model.values()]).not.toContain(given)
          expect(given).toBeLessThan(16)
          model.set(key, given)
        } else if (!adds && slot >= 0) {
          table.remove(slot)
          model.delete(key)
        }
        expect(table.isFull).toBe(model.size === 16)
      }
      for (let n = 0; n <= 40; n++) expect(table.find(`key ${n}`)).toBe(model.get(`key ${n}`) ?? -1)
    })
    fc.assert(property, { seed, numRuns: 300 })
  })

  test('takes keys for one only when all 64 bits of their hashes agree', () => {
    const hash = createKeyedHash(seededRandom(5))
    for (const half of ['low', 'high'] as const) {
      const seen = new Map<number, string>()
      const pairs: [string, string][] = []
      for (let n = 0; pairs.length < 6 && n < 500_000; n++) {
        hash.read(`key ${n}`)
        const other = seen.get(hash[half])
        if (other !== undefined) pairs.push([other, `key ${n}`])
        seen.set(hash[half], `key ${n}`)
      }
      expect(pairs).toHaveLength(6)
      for (const [one, other] of pairs) {
        // From the same seed, so with the same secret; so small that the search for one meets the other.
        const table = createKeyTable(1, seededRandom(5))
        table.find(one)
        const slot = table.add()
        expect([table.find(one), table.find(other)]).toEqual([slot, -1])
      }
    }
  })

  test('adds no more keys than it has slots', () => {
    const table = createKeyTable(1, seededRandom(1))
    table.find('a')
    table.add()
    table.find('b')
    expect(() => table.add()).toThrow(Bug)
  })
})

describe('the keyed hash', () => {
  const hashWith = (seed: number) => {
    const hash = createKeyedHash(seededRandom(seed))
    return (text: string) => {
      hash.read(text)
      return `${hash.low} ${hash.high}`
    }
  }

  test('tells 200,000 neighbouring addresses apart, in both halves', () => {
    const hash = createKeyedHash(systemRandom)
    const lows = new Set<number>()
    const highs = new Set<number>()
    const lowBits = new Uint32Array(1024)
    const highBits = new Uint32Array(1024)
    for (let n = 0; n < 200_000; n++) {
      hash.read(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`)
      lows.add(hash.low)
      highs.add(hash.high)
      lowBits[hash.low & 1023]! += 1
      highBits[hash.high & 1023]! += 1
    }
    // By chance 4.7 of 32 bits meet; 195 keys fall on each of 1024 places, give or take 14.
    expect(lows.size).toBeGreaterThan(199_960)
    expect(highs.size).toBeGreaterThan(199_960)
    for (const bits of [lowBits, highBits]) {
      expect(Math.min(...bits)).toBeGreaterThan(195 - 100)
      expect(Math.max(...bits)).toBeLessThan(195 + 100)
    }
  })

  test('is another one in every process, so that no collision can be prepared', () => {
    expect(hashWith(1)('1.2.3.4')).toBe(hashWith(1)('1.2.3.4'))
    expect(hashWith(1)('1.2.3.4')).not.toBe(hashWith(2)('1.2.3.4'))
    const withSecret = (...secret: number[]) => {
      const hash = createKeyedHash({ next: () => 0, bytes: () => Uint8Array.from(secret) })
      hash.read('1.2.3.4')
      return `${hash.low} ${hash.high}`
    }
    const hashes = [0, 1, 2, 3, 4, 5, 6, 7].map(at =>
      withSecret(...[0, 1, 2, 3, 4, 5, 6, 7].map(n => (n === at ? 9 : 0))),
    )
    expect(new Set(hashes).size).toBe(8)
  })

  test('sees every character, the order and the length', () => {
    const of = hashWith(3)
    const texts = [
      '',
      '\0',
      '\0\0',
      '\0\0\0',
      'a',
      'b',
      'ab',
      'ba',
      'abc',
      'acb',
      'abcd',
      'abdc',
      'cdab',
      'ā',
      'aĀ',
      '限',
    ]
    expect(new Set(texts.map(of)).size).toBe(texts.length)
  })
})
