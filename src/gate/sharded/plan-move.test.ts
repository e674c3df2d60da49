import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { shardsFor } from '../../domain/shards.ts'
import { planMove } from './plan-move.ts'

type ShardStock = Parameters<typeof planMove>[0][number]

const shard = fc.record({ left: fc.nat(60), wants: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 100 })) })
const shards = fc.array(shard, { minLength: 2, maxLength: 64 })

const of = (...figures: readonly (readonly [left: number, wants: number])[]): ShardStock[] =>
  figures.map(([left, wants]) => ({ left, wants }))

/** What is wanted of a shard, as far as it can be had at all. */
function wanted(all: readonly ShardStock[]): readonly { left: number; wants: number }[] {
  const total = all.reduce((sum, { left }) => sum + left, 0)
  const most = Math.max(1, Math.floor(total / all.length))
  return all.map(({ left, wants }) => ({ left, wants: wants <= total ? wants : most }))
}

/** Moves until nothing is planned any more. */
function settle(all: readonly ShardStock[]): { readonly moves: number; readonly shards: readonly ShardStock[] } {
  let now = all
  for (let moves = 0; ; moves++) {
    const move = planMove(now)
    if (move === undefined) return { moves, shards: now }
    if (moves > 4 * all.length) throw new Error(`no end after ${moves} moves: ${JSON.stringify(all)}`)
    now = now.map(({ left, wants }, at) => ({
      wants,
      left: left + (at === move.to ? move.units : at === move.from ? -move.units : 0),
    }))
  }
}

describe('a planned move', () => {
  test('never takes more than there is, never more than the giver can spare, and goes to a shard that waits', () => {
    fc.assert(
      fc.property(shards, all => {
        const move = planMove(all)
        if (move === undefined) return
        const { from, to, units } = move
        expect(from).not.toBe(to)
        expect(units).toBeGreaterThanOrEqual(1)
        expect(units).toBeLessThanOrEqual(all[from]!.left)
        const { left, wants } = wanted(all)[to]!
        expect(left).toBeLessThan(wants)
        // Who gives either keeps what was asked of it, or waits too and could not have been served from what is free.
        const giver = wanted(all)[from]!
        if (giver.left >= giver.wants) expect(giver.left - units).toBeGreaterThanOrEqual(giver.wants)
        else expect(wanted(all).every(one => one.left <= one.wants)).toBe(true)
      }),
    )
  })

  test('is always found while a shard waits and another has units that nobody asked it for', () => {
    fc.assert(
      fc.property(shards, all => {
        const now = wanted(all)
        const waits = now.some(({ left, wants }) => left < wants)
        const spare = now.some(({ left, wants }) => left > wants)
        if (waits && spare) expect(planMove(all)).toBeDefined()
        if (!waits) expect(planMove(all)).toBeUndefined()
      }),
    )
  })

  test('repeated it ends, keeps every unit, and leaves nobody waiting who could be served', () => {
    fc.assert(
      fc.property(shards, all => {
        const sum = (list: readonly ShardStock[]) => list.reduce((units, { left }) => units + left, 0)
        const after = settle(all)
        expect(sum(after.shards)).toBe(sum(all))
        const now = wanted(after.shards)
        const waiting = now.filter(({ left, wants }) => left < wants)
        if (waiting.length === 0) return
        expect(now.some(({ left, wants }) => left > wants)).toBe(false)
        const least = waiting.reduce((one, other) => (other.wants - other.left < one.wants - one.left ? other : one))
        expect(sum(waiting)).toBeLessThan(least.wants)
      }),
    )
  })

  test('brings the last unit to whoever asks for it, and an even share while there are many', () => {
    expect(planMove(of([1, 0], [0, 1]))).toEqual({ from: 0, to: 1, units: 1 })
    expect(planMove(of([80, 0], [0, 1], [0, 0], [0, 0]))).toEqual({ from: 0, to: 1, units: 20 })
    expect(planMove(of([3, 0], [2, 0], [0, 5]))).toEqual({ from: 0, to: 2, units: 3 })
    expect(planMove(of([0, 0], [2, 0], [3, 5]))).toEqual({ from: 1, to: 2, units: 2 })
  })

  test('does not starve small wishes behind one that can not be met', () => {
    expect(planMove(of([20, 100], [0, 100]))).toEqual({ from: 0, to: 1, units: 10 })
  })

  test('fills one of those who all have too few, and does not take from who has just enough', () => {
    const all = of([8, 100], [8, 100], ...Array.from({ length: 62 }, () => [8, 100] as const))
    expect(settle(all).shards.filter(({ left }) => left >= 100)).toHaveLength(5)
    expect(planMove(of([5, 5], [0, 5]))).toBeUndefined()
    expect(planMove(of([3, 5], [3, 5]))).toEqual({ from: 1, to: 0, units: 2 })
  })
})

test('an item has all its shards or one shard, and one below eight units a shard', () => {
  expect([0, 63, 64, 65, 10_000].map(units => shardsFor(units, 8))).toEqual([1, 1, 8, 8, 8])
  expect([0, 1, 7, 8].map(units => shardsFor(units, 1))).toEqual([1, 1, 1, 1])
})
