import { expect, test } from 'bun:test'
import { Histogram } from './histogram.ts'

test('a quantile is never below the true one, and at most 1.6% above', () => {
  const seed = 20_261_115
  console.log(`seed ${seed}`)
  let state = seed
  const random = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  const histogram = new Histogram()
  const values = Array.from({ length: 10_000 }, () => Math.round(10 ** (random() * 7)) / 1000)
  for (const value of values) histogram.add(value)
  values.sort((a, b) => a - b)
  for (const share of [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1]) {
    const exact = values[Math.ceil(values.length * share) - 1]!
    expect(histogram.quantile(share)).toBeGreaterThanOrEqual(exact)
    expect(histogram.quantile(share)).toBeLessThanOrEqual(exact * 1.016)
  }
})

test('two halves merged are the whole', () => {
  const [whole, one, other] = [new Histogram(), new Histogram(), new Histogram()]
  for (let i = 0; i < 1_000; i++) {
    whole.add(i / 7)
    ;(i % 2 === 0 ? one : other).add(i / 7)
  }
  one.merge(other)
  expect(one.count).toBe(1_000)
  expect(one.maxMs).toBe(whole.maxMs)
  for (const share of [0.01, 0.5, 0.99]) expect(one.quantile(share)).toBe(whole.quantile(share))
})
