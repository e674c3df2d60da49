/** What every adapter of the hold counts keeps. Time is the caller's: the suite moves it. */

import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { systemRandom } from '../../base/random.ts'
import type { Hold, HoldCounts } from '../hold-counts.ts'

interface Made {
  readonly counts: HoldCounts
  /** Unix ms, moved by the suite. */
  readonly time: { nowMs: number }
}

export function holdCountsSuite(name: string, open: () => Promise<Made>): void {
  let sales = 0
  const newSale = () => `${systemRandom.next().toString().slice(2, 12)}${++sales}`
  const hold = (id: string, units: number, keys: readonly string[], forMs = 1_000): Hold => ({ id, units, keys, forMs })

  describe(`hold counts ${name}`, () => {
    test('are unread until the ledger was read, and again for every other sale', async () => {
      const { counts } = await open()
      const sale = newSale()
      expect(await counts.take(sale, hold('a', 1, ['x']), [1])).toEqual({ kind: 'unread' })
      expect(await counts.load(sale, [])).toBe(true)
      expect(await counts.take(sale, hold('a', 1, ['x']), [1])).toEqual({ kind: 'taken' })
      expect(await counts.take(newSale(), hold('a', 1, ['x']), [1])).toEqual({ kind: 'unread' })
    })

    test('refuse what one subject has no room for, count nothing of it, and let a counted hold pass again', async () => {
      const { counts } = await open()
      const sale = newSale()
      await counts.load(sale, [])
      expect(await counts.take(sale, hold('a', 2, ['buyer', 'net']), [2, 3])).toEqual({ kind: 'taken' })
      expect(await counts.take(sale, hold('b', 2, ['other', 'net']), [2, 3])).toEqual({ kind: 'full', at: 1 })
      expect(await counts.take(sale, hold('c', 2, ['other']), [2])).toEqual({ kind: 'taken' })
      expect(await counts.take(sale, hold('a', 2, ['buyer', 'net']), [2, 3])).toEqual({ kind: 'taken' })
      expect(await counts.take(sale, hold('d', 1, ['buyer', 'net']), [2, 3])).toEqual({ kind: 'full', at: 0 })
      expect(await counts.take(sale, hold('d', 1, ['net']), [3])).toEqual({ kind: 'taken' })
    })

    test('count all units of a hold that asks again for more, and refuse it where there is no room for them', async () => {
      const { counts, time } = await open()
      const sale = newSale()
      await counts.load(sale, [])
      expect(await counts.take(sale, hold('a', 1, ['buyer', 'net'], 9_000), [4, 5])).toEqual({ kind: 'taken' })
      expect(await counts.take(sale, hold('a', 5, ['buyer', 'net']), [4, 5])).toEqual({ kind: 'full', at: 0 })
      expect(await counts.take(sale, hold('a', 4, ['buyer', 'net']), [4, 5])).toEqual({ kind: 'taken' })
      expect(await counts.take(sale, hold('b', 2, ['other', 'net']), [4, 5])).toEqual({ kind: 'full', at: 1 })
      // Fewer, or the same again, change nothing; and none of it makes the hold end sooner.
      expect(await counts.take(sale, hold('a', 2, ['buyer', 'net']), [4, 5])).toEqual({ kind: 'taken' })
      time.nowMs += 5_000
      expect(await counts.take(sale, hold('b', 2, ['other', 'net']), [4, 5])).toEqual({ kind: 'full', at: 1 })
      await counts.keep(sale, ['a'], 0)
      expect(await counts.take(sale, hold('b', 5, ['other', 'net']), [5, 5])).toEqual({ kind: 'taken' })
    })

    test('let a hold go when its time is over, sooner or later as they hear, and count what the ledger has beyond any limit', async () => {
      const { counts, time } = await open()
      const sale = newSale()
      await counts.load(sale, [hold('old', 5, ['net'], 400)])
      expect(await counts.take(sale, hold('a', 1, ['net']), [5])).toEqual({ kind: 'full', at: 0 })
      // Counted already: the load changes nothing.
      await counts.load(sale, [hold('old', 5, ['net'], 9_000)])
      time.nowMs += 400
      expect(await counts.take(sale, hold('a', 5, ['net'], 1_000), [5])).toEqual({ kind: 'taken' })
      await counts.keep(sale, ['a', 'unknown'], 3_000)
      time.nowMs += 2_000
      expect(await counts.take(sale, hold('b', 1, ['net']), [5])).toEqual({ kind: 'full', at: 0 })
      await counts.keep(sale, ['a'], 0)
      expect(await counts.take(sale, hold('b', 5, ['net']), [5])).toEqual({ kind: 'taken' })
    })

    test('let go only what would end soon, where that is asked for: a hold that was answered meanwhile stays', async () => {
      const { counts } = await open()
      const sale = newSale()
      await counts.load(sale, [])
      for (const id of ['asked', 'answered']) await counts.take(sale, hold(id, 1, ['net'], 1_000), [2])
      await counts.keep(sale, ['answered'], 60_000)
      await counts.keep(sale, ['asked', 'answered'], 0, 1_000)
      expect(await counts.take(sale, hold('a', 2, ['net']), [2])).toEqual({ kind: 'full', at: 0 })
      expect(await counts.take(sale, hold('a', 1, ['net']), [2])).toEqual({ kind: 'taken' })
    })

    test('agree with the plain definition in random lives', async () => {
      const { counts, time } = await open()
      const seed = Math.floor(systemRandom.next() * 2 ** 31)
      console.log(`seed ${seed}`)
      const key = fc.constantFrom('x', 'y', 'z')
      const step = fc.record({
        what: fc.constantFrom('take', 'take', 'take', 'keep', 'drop', 'wait'),
        id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
        units: fc.integer({ min: 1, max: 3 }),
        keys: fc.uniqueArray(key, { minLength: 1, maxLength: 3 }),
        max: fc.integer({ min: 1, max: 6 }),
        ms: fc.integer({ min: 60, max: 2_000 }),
      })
      const life = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async steps => {
        const sale = newSale()
        await counts.load(sale, [])
        const held = new Map<string, Hold & { untilMs: number }>()
        const isLive = (one: { readonly untilMs: number } | undefined) => one !== undefined && one.untilMs > time.nowMs
        for (const { what, id, units, keys, max, ms } of steps) {
          const known = held.get(id)
          // Beyond what a sweep may be late.
          if (what === 'wait') time.nowMs += ms
          // An ended hold that is still in the books may live again: the caller keeps only what has not ended.
          else if ((what === 'keep' || what === 'drop') && isLive(known)) {
            await counts.keep(sale, [id], what === 'keep' ? ms : 0)
            known!.untilMs = what === 'keep' ? time.nowMs + ms : 0
          } else if (what === 'take') {
            time.nowMs += 60
            const used = (of: string) =>
              [...held.values()]
                .filter(one => isLive(one) && one.keys.includes(of))
                .reduce((sum, one) => sum + one.units, 0)
            const counted = isLive(known) ? known : undefined
            const isMore = counted === undefined || counted.units < units
            const own = (of: string) => (counted?.keys.includes(of) ? counted.units : 0)
            const at = isMore ? keys.findIndex(one => used(one) - own(one) + units > max) : -1
            const one = hold(id, units, keys, ms)
            const expected = at >= 0 ? { kind: 'full', at } : { kind: 'taken' }
            expect(
              await counts.take(
                sale,
                one,
                keys.map(() => max),
              ),
            ).toEqual(expected as never)
            const untilMs = Math.max(time.nowMs + ms, counted?.untilMs ?? 0)
            if (at < 0 && isMore) held.set(id, { ...one, untilMs })
          }
        }
      })
      await fc.assert(life, { seed, numRuns: 150, endOnFailure: true })
    }, 120_000)
  })
}
