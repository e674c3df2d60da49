import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { aheadMs } from './clock-skew.ts'

test('an answer that was held up on its way is not taken for a clock that is wrong', async () => {
  for (const wrongByMs of [0, -700]) {
    let ms = 1_000_000
    const clock: Clock = { now: () => ms, elapsed: () => ms, sleep: async () => {} }
    const backMs = [400, 1, 400, 30, 400]
    const ahead = await aheadMs(clock, async () => {
      ms += 1
      const there = ms + wrongByMs
      ms += backMs.shift() ?? 1
      return there
    })
    expect(ahead).toBe(wrongByMs)
  }
})
