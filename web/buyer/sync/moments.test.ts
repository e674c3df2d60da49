import { expect, test } from 'bun:test'
import { backOffMs, ticketMomentMs } from './moments.ts'

const CHANCES = [0, 0.25, 0.5, 0.999]

test('spreads tickets over the whole time between warm-up and opening, and leaves room for a second try', () => {
  for (const chance of CHANCES) {
    const atMs = ticketMomentMs(0, 60_000, 600_000, chance)
    expect(atMs).toBeGreaterThanOrEqual(60_000)
    expect(atMs).toBeLessThanOrEqual(595_000)
  }
  expect(ticketMomentMs(0, 60_000, 600_000, 0.999) - ticketMomentMs(0, 60_000, 600_000, 0)).toBeGreaterThan(500_000)
})

test('whoever comes shortly before the opening has a ticket before it, and after it at once', () => {
  for (const chance of CHANCES) {
    expect(ticketMomentMs(599_000, 0, 600_000, chance)).toBeLessThan(600_000)
    expect(ticketMomentMs(600_001, 0, 600_000, chance)).toBe(600_001)
  }
})

test('waits longer each time, never longer than eight seconds, and never in step', () => {
  for (let tries = 0; tries < 20; tries++) {
    expect(backOffMs(tries, 0)).toBeGreaterThanOrEqual(200)
    expect(backOffMs(tries, 0.999)).toBeLessThanOrEqual(8_000)
    expect(backOffMs(tries + 1, 0.5)).toBeGreaterThanOrEqual(backOffMs(tries, 0.5))
    expect(backOffMs(tries, 0.9)).toBeGreaterThan(backOffMs(tries, 0.1))
  }
})
