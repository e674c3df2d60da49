import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { WideMap } from './wide-map.ts'

test('answers as a Map does, whatever is done to it', () => {
  const key = fc.oneof(
    fc.string({ maxLength: 3 }),
    fc.integer({ min: 0, max: 40 }).map(String),
    fc.constant('__proto__'),
  )
  const step = fc.record({ key, value: fc.option(fc.integer(), { nil: undefined }), remove: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const plain = new Map<string, number | undefined>()
      const wide = new WideMap<number | undefined>()
      for (const { key, value, remove } of steps) {
        if (remove) plain.delete(key)
        else plain.set(key, value)
        if (remove) wide.delete(key)
        else wide.set(key, value)
        expect(wide.size).toBe(plain.size)
      }
      for (const { key } of steps) {
        expect(wide.get(key)).toBe(plain.get(key))
        expect(wide.has(key)).toBe(plain.has(key))
      }
      expect([...wide.keys()].toSorted()).toEqual([...plain.keys()].toSorted())
    }),
  )
})

test('keys as they come in a sale spread over its parts', () => {
  const kinds: ((i: number) => string)[] = [
    i => `buyer-${i}`,
    i => String(7_300_000_000_000_000_000n + BigInt(i) * 4_096n),
    i => Bun.hash(`${i}`).toString(36),
  ]
  for (const kind of kinds) {
    const seen = new Map<number, number>()
    const wide = new WideMap<true>()
    for (let i = 0; i < 10_000; i++) wide.set(kind(i), true)
    expect(wide.size).toBe(10_000)
    for (const key of wide.keys()) seen.set(WideMap.partOf(key), (seen.get(WideMap.partOf(key)) ?? 0) + 1)
    expect(seen.size).toBeGreaterThan(16)
    expect(Math.max(...seen.values())).toBeLessThan(2_000)
  }
})
