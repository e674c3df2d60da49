import { expect, test } from 'bun:test'
import { seededRandom } from '../../base/random.ts'
import { arrivals, type Shape } from './shape.ts'

const SEED = 20_261_115
const drawn = (shape: Shape, buyers = 20_000) => arrivals(shape, buyers, seededRandom(SEED)).toSorted()

test('a spike has half its clicks in the first quarter, a ramp in the last third, and all within the time', () => {
  console.log(`seed ${SEED}`)
  const spike = drawn({ kind: 'spike', withinMs: 1000 })
  const ramp = drawn({ kind: 'ramp', withinMs: 1000 })
  expect(spike[10_000]).toBeWithin(235, 265)
  expect(ramp[10_000]).toBeWithin(695, 720)
  for (const all of [spike, ramp])
    expect({ early: all[0]! < 0, late: all.at(-1)! > 1000 }).toEqual({ early: false, late: false })
})

test('a Poisson stream has the rate asked for, and gaps as uneven as chance makes them', () => {
  const at = drawn({ kind: 'poisson', perSecond: 2000 })
  expect(at.at(-1)!).toBeWithin(9_700, 10_300)
  const gaps = Array.from(at.subarray(1), (ms, i) => ms - at[i]!)
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length
  const spread = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length)
  expect(spread / mean).toBeWithin(0.95, 1.05)
})

test('the same seed is the same crowd', () => {
  const shape: Shape = { kind: 'spike', withinMs: 1000 }
  expect(drawn(shape)).toEqual(drawn(shape))
  expect(drawn({ kind: 'replay', offsetsMs: [5, 1, 9] }, 4)).toEqual(Float64Array.of(1, 5, 5, 9))
})
