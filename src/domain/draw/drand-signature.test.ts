import { describe, expect, test } from 'bun:test'
import { RECORDED_ROUNDS } from './drand.fixture.ts'
import { QUICKNET, roundAfterSeal, roundAtMs } from './drand-rounds.ts'
import { beaconDifference, drandValue } from './drand-signature.ts'

describe('a round of drand', () => {
  for (const { round, signature, randomness } of RECORDED_ROUNDS) {
    test(`${round}, as it was published, has its value`, () => {
      expect(drandValue(round, signature)).toBe(randomness)
    })
  }

  const [{ round, signature }, other] = RECORDED_ROUNDS
  test('with another number, a changed signature or that of another round has none', () => {
    expect(drandValue(round + 1, signature)).toBeUndefined()
    expect(drandValue(round, other.signature)).toBeUndefined()
    for (const at of [0, 1, 5, 95]) {
      const digit = ((Number.parseInt(signature[at]!, 16) + 1) % 16).toString(16)
      expect(drandValue(round, signature.slice(0, at) + digit + signature.slice(at + 1))).toBeUndefined()
    }
    expect(drandValue(round, '')).toBeUndefined()
    expect(drandValue(round, signature.toUpperCase())).toBeUndefined()
    expect(drandValue(round, `${signature}00`)).toBeUndefined()
    // The point at infinity, and zeros.
    expect(drandValue(round, `c0${'00'.repeat(47)}`)).toBeUndefined()
    expect(drandValue(round, '00'.repeat(48))).toBeUndefined()
  })

  test('of a draw is published after the seal, with room for clocks that differ', () => {
    for (const sealsAtMs of [0, 1, 999, 1_500, 2_999, 3_000].map(ms => Date.UTC(2026, 10, 11) + ms)) {
      const published = roundAtMs(roundAfterSeal(sealsAtMs))
      expect(published - sealsAtMs).toBeGreaterThanOrEqual(5_000)
      expect(published - sealsAtMs).toBeLessThan(5_000 + QUICKNET.periodMs)
    }
    expect(roundAtMs(1)).toBe(QUICKNET.genesisMs)
    expect(roundAfterSeal(0)).toBe(1)
  })

  test('is what a record must have, if it names drand', () => {
    const sealsAtMs = roundAtMs(round) - 5_000
    const beacon = { source: 'drand', round, value: RECORDED_ROUNDS[0].randomness, signature }
    expect(beaconDifference(beacon, sealsAtMs)).toBeUndefined()
    expect(beaconDifference(beacon, sealsAtMs + 1)).toMatch(/not later than the seal/)
    expect(beaconDifference({ ...beacon, value: other.randomness }, sealsAtMs)).toMatch(/does not follow/)
    expect(beaconDifference({ ...beacon, round: round + 1 }, sealsAtMs)).toMatch(/not that of round/)
    expect(beaconDifference({ ...beacon, signature: undefined }, sealsAtMs)).toMatch(/without round or signature/)
    expect(beaconDifference({ source: 'a lottery', value: '1' }, sealsAtMs)).toBeUndefined()
    expect(beaconDifference(undefined, sealsAtMs)).toBeUndefined()
  })
})
