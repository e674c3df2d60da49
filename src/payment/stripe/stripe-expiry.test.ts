import { expect, test } from 'bun:test'
import { sessionExpiry } from './stripe-expiry.ts'

const NOW = 1_800_000_000_000
const MINUTE = 60_000

test('is pay_by, or 30 minutes from now with a little room where that is later, and never past 24 hours', () => {
  expect(sessionExpiry(NOW + 60 * MINUTE, NOW)).toBe((NOW + 60 * MINUTE) / 1000)
  for (let ms = 0; ms < 10 * MINUTE; ms += 777) {
    expect(sessionExpiry(NOW, NOW + ms) * 1000 - NOW - ms).toBeWithin(31 * MINUTE - 1, 33 * MINUTE + 1)
    const latestMs = sessionExpiry(NOW + 90 * 24 * 60 * MINUTE, NOW + ms) * 1000 - NOW - ms
    expect(latestMs).toBeWithin((24 * 60 - 4) * MINUTE, 24 * 60 * MINUTE)
  }
})

test('of a start up to two minutes ago, or by a clock that is a second behind, is one step away at most', () => {
  for (const payByMs of [NOW, NOW + 32 * MINUTE, NOW + 90 * 24 * 60 * MINUTE])
    for (let ms = 0; ms < 10 * MINUTE; ms += 777)
      for (const later of [-1_000, 0, 1_000, 60_000, 120_000]) {
        const again = [0, 1, -1].map(stepsBack => sessionExpiry(payByMs, NOW + ms + later, stepsBack))
        expect(again).toContain(sessionExpiry(payByMs, NOW + ms))
      }
})
