import { expect, test } from 'bun:test'
import { createClockComparison } from './clock-comparison.ts'

test('two clocks that can be a second apart or less are not called skewed, however long the answers took', () => {
  const clocks = createClockComparison()
  clocks.ledger(1_000_000, 100, 110)
  clocks.gate(1_001_000, 100, 110)
  expect(clocks.skewedMs(120)).toBeUndefined()
  // Half a second underway: it may have been read at any moment of it.
  clocks.gate(1_001_400, 100, 600)
  expect(clocks.skewedMs(620)).toBeUndefined()
})

test('beyond a second they are, ahead and behind, until a fresh reading says otherwise', () => {
  const clocks = createClockComparison()
  clocks.ledger(1_000_000, 100, 110)
  expect(clocks.skewedMs(120)).toBeUndefined()
  clocks.gate(1_001_100, 100, 110)
  expect(clocks.skewedMs(120)).toBe(1_090)
  clocks.gate(998_800, 100, 110)
  expect(clocks.skewedMs(120)).toBe(-1_190)
  expect(clocks.skewedMs(9_000)).toBeUndefined()
  clocks.gate(1_000_000, 100, 110)
  expect(clocks.skewedMs(120)).toBeUndefined()
})

test('of several clocks the fastest may not be a second ahead and the slowest not a second behind', () => {
  const clocks = createClockComparison()
  clocks.ledger(1_000_000, 100, 110)
  clocks.gate(1_000_600, 100, 110, 1_200)
  expect(clocks.skewedMs(120)).toBeUndefined()
  clocks.gate(1_000_000, 100, 110, 1_200)
  expect(clocks.skewedMs(120)).toBe(-1_190)
  clocks.gate(1_001_100, 100, 110, 1_100)
  expect(clocks.skewedMs(120)).toBe(1_090)
  clocks.gate(1_000_000, 100, 110)
  expect(clocks.skewedMs(120)).toBeUndefined()
})
