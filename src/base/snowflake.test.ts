import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { Bug } from './assert.ts'
import type { Clock } from './clock.ts'
import { Fault } from './fault.ts'
import { seededRandom, systemRandom } from './random.ts'
import { createIdMaker } from './snowflake.ts'

const EPOCH_MS = Date.UTC(2024, 0, 1)
const START_MS = Date.UTC(2026, 10, 11)

function manualClock(startMs = START_MS) {
  const clock = { ms: startMs, now: () => clock.ms, elapsed: () => clock.ms, sleep: () => Promise.resolve() }
  return clock satisfies Clock
}

/** The definition, by the plain road. */
function reference(ms: number, node: number, sequence: number): string {
  return ((BigInt(ms - EPOCH_MS) << 22n) | (BigInt(node) << 12n) | BigInt(sequence)).toString()
}

const msOf = (id: string) => Number(BigInt(id) >> 22n) + EPOCH_MS

function faultOf(fn: () => unknown): Fault {
  try {
    fn()
  } catch (error) {
    if (error instanceof Fault) return error
    throw error
  }
  throw new Error('there was no fault')
}

describe('an id', () => {
  test('is the 64-bit number its definition says, for every time, node and sequence', () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    const ms = fc.oneof(
      fc.integer({ min: EPOCH_MS + 1, max: EPOCH_MS + 10_000 }),
      fc.integer({ min: EPOCH_MS + 1, max: EPOCH_MS + 2 ** 41 - 1 }),
      fc.constantFrom(EPOCH_MS + 1, EPOCH_MS + 1e7 - 1, EPOCH_MS + 1e7, EPOCH_MS + 1e7 + 1, EPOCH_MS + 2 ** 41 - 1),
    )
    const property = fc.property(
      ms,
      fc.integer({ min: 0, max: 1023 }),
      fc.integer({ min: 0, max: 40 }),
      (at, node, skip) => {
        const ids = createIdMaker({ clock: manualClock(at), node, fromMs: 0, untilMs: at })
        for (let sequence = 0; sequence <= skip; sequence++) expect(ids.next()).toBe(reference(at, node, sequence))
      },
    )
    fc.assert(property, { seed, numRuns: 2000 })
  })

  test('has its zeros in the middle', () => {
    // Wherever the tail is short of its seven digits, a missing zero would make another id.
    const at = START_MS
    const ids = createIdMaker({ clock: manualClock(at), node: 1023, fromMs: 0, untilMs: at })
    for (let sequence = 0; sequence < 4096; sequence++) expect(ids.next()).toBe(reference(at, 1023, sequence))
  })

  test('is a positive signed 64-bit number, from the first one to the last one there can be', () => {
    const first = createIdMaker({ clock: manualClock(EPOCH_MS), node: 0, fromMs: 0, untilMs: EPOCH_MS + 10 }).next()
    expect(BigInt(first)).toBeGreaterThan(0n)
    const end = EPOCH_MS + 2 ** 41 - 1
    const ids = createIdMaker({ clock: manualClock(end), node: 1023, fromMs: 0, untilMs: end })
    let last = ''
    for (let i = 0; i < 4096; i++) last = ids.next()
    expect(last).toBe('9223372036854775807')
  })

  test('is never made twice, and grows per node: a million of them from two nodes under a wandering clock', () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const clock = manualClock()
    const makers = [0, 1].map(node => createIdMaker({ clock, node, fromMs: START_MS - 1, untilMs: START_MS + 1e7 }))
    const made: bigint[][] = [[], []]
    let refused = 0
    while (made[0]!.length + made[1]!.length < 1_000_000) {
      if (random.next() < 0.003) clock.ms += Math.floor(random.next() * 12) - 4
      const which = random.next() < 0.5 ? 0 : 1
      try {
        made[which]!.push(BigInt(makers[which]!.next()))
      } catch (error) {
        expect(error).toBeInstanceOf(Fault)
        refused += 1
        clock.ms += 1
      }
    }
    for (const ids of made) {
      let sorted = true
      for (let i = 1; i < ids.length; i++) sorted &&= ids[i - 1]! < ids[i]!
      expect(sorted).toBe(true)
    }
    expect(new Set([...made[0]!, ...made[1]!]).size).toBe(1_000_000)
    expect(refused).toBeLessThan(100_000)
  })
})

describe('a clock that steps back', () => {
  test('up to 50 ms is outwaited: ids go on from the last millisecond', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 3, fromMs: 0, untilMs: START_MS + 1000 })
    expect(ids.next()).toBe(reference(START_MS, 3, 0))
    clock.ms -= 50
    expect(ids.healthy()).toBe(true)
    expect(ids.next()).toBe(reference(START_MS, 3, 1))
    clock.ms += 51
    expect(ids.next()).toBe(reference(START_MS + 1, 3, 0))
  })

  test('further makes the node unhealthy until it has caught up to within 50 ms', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 3, fromMs: 0, untilMs: START_MS + 1000 })
    ids.next()
    clock.ms -= 51
    expect(ids.healthy()).toBe(false)
    expect(faultOf(ids.next)).toMatchObject({ code: 'clock_back', retryable: true })
    clock.ms += 1
    expect(ids.healthy()).toBe(true)
    expect(ids.next()).toBe(reference(START_MS, 3, 1))
  })

  test('by hours and forward again loses nothing and repeats nothing', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 3, fromMs: 0, untilMs: START_MS + 1e6 })
    const before = BigInt(ids.next())
    clock.ms -= 3_600_000
    expect(faultOf(ids.next).code).toBe('clock_back')
    clock.ms += 3_600_000 + 777
    expect(BigInt(ids.next())).toBeGreaterThan(before)
    expect(ids.lastMs()).toBe(START_MS + 777)
  })
})

describe('a burst', () => {
  test('borrows the following milliseconds, at most 50 ahead of the clock', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 3, fromMs: 0, untilMs: START_MS + 1000 })
    let last = ''
    for (let i = 0; i < 4096 * 51; i++) last = ids.next()
    expect(last).toBe(reference(START_MS + 50, 3, 4095))
    expect(faultOf(ids.next)).toMatchObject({ code: 'ids_exhausted', retryable: true })
    expect(ids.healthy()).toBe(true)
    clock.ms += 1
    expect(ids.next()).toBe(reference(START_MS + 51, 3, 0))
  })

  test('never borrows beyond the bound', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 3, fromMs: 0, untilMs: START_MS + 1 })
    let last = ''
    for (let i = 0; i < 4096 * 2; i++) last = ids.next()
    expect(msOf(last)).toBe(START_MS + 1)
    expect(faultOf(ids.next).code).toBe('ids_exhausted')
    ids.extend(START_MS + 2)
    expect(ids.next()).toBe(reference(START_MS + 2, 3, 0))
  })
})

describe('a lease', () => {
  test('ends at its bound: beyond it no id is made until it is extended', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 3, fromMs: 0, untilMs: START_MS })
    expect(msOf(ids.next())).toBe(START_MS)
    clock.ms += 1
    expect(ids.healthy()).toBe(false)
    expect(faultOf(ids.next)).toMatchObject({ code: 'ids_exhausted', retryable: true })
    ids.extend(START_MS + 1)
    expect(ids.healthy()).toBe(true)
    expect(msOf(ids.next())).toBe(START_MS + 1)
  })

  test('starts after the bound of the previous holder, even when the clock has not reached it', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 3, fromMs: START_MS + 10, untilMs: START_MS + 1000 })
    expect(ids.lastMs()).toBe(START_MS + 10)
    expect(ids.next()).toBe(reference(START_MS + 11, 3, 0))
    const late = createIdMaker({ clock, node: 3, fromMs: START_MS + 60, untilMs: START_MS + 1000 })
    expect(late.healthy()).toBe(false)
    expect(faultOf(late.next).code).toBe('clock_back')
  })

  test('keeps a zombie and its successor apart, whatever their clocks do', () => {
    const seed = Math.floor(systemRandom.next() * 2 ** 31)
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    for (let round = 0; round < 200; round++) {
      const bound = START_MS + Math.floor(random.next() * 100)
      const lives = [
        { fromMs: START_MS - 1, untilMs: bound },
        { fromMs: bound, untilMs: bound + 200 },
      ].map(lease => {
        const clock = manualClock()
        return { clock, ids: createIdMaker({ clock, node: 9, ...lease }) }
      })
      const made: string[] = []
      for (let i = 0; i < 300; i++) {
        const life = lives[random.next() < 0.5 ? 0 : 1]!
        if (random.next() < 0.2) life.clock.ms = bound + Math.floor(random.next() * 120) - 60
        try {
          made.push(life.ids.next())
        } catch (error) {
          expect(error).toBeInstanceOf(Fault)
        }
      }
      expect(made.length).toBeGreaterThan(0)
      expect(new Set(made).size).toBe(made.length)
    }
  })

  test('that would go back, or a node that does not exist, is a bug', () => {
    const clock = manualClock()
    const ids = createIdMaker({ clock, node: 0, fromMs: 0, untilMs: START_MS })
    expect(() => ids.extend(START_MS - 1)).toThrow(Bug)
    expect(() => ids.extend(EPOCH_MS + 2 ** 41)).toThrow(Bug)
    expect(() => createIdMaker({ clock, node: 1024, fromMs: 0, untilMs: START_MS })).toThrow(Bug)
    expect(() => createIdMaker({ clock, node: -1, fromMs: 0, untilMs: START_MS })).toThrow(Bug)
    expect(() => createIdMaker({ clock, node: 0, fromMs: START_MS, untilMs: START_MS - 1 })).toThrow(Bug)
  })
})
