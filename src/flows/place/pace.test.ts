import { expect, test } from 'bun:test'
import { createPace } from './pace.ts'

test('a slow ledger gets smaller batches and fewer of them at once, down to a bound; a quick one gets all back', () => {
  let nowMs = 0
  const pace = createPace(() => nowMs)
  const now = () => [pace.asksMax(), pace.lanesMax()]
  expect(now()).toEqual([500, 8])
  for (let i = 0; i < 8; i++) pace.answered(2_000)
  expect(now()).toEqual([250, 7])
  for (let i = 0; i < 20; i++) {
    nowMs += 1_000
    pace.answered(2_000)
  }
  expect(now()).toEqual([25, 1])
  for (let i = 0; i < 5; i++) pace.answered(10)
  expect(now()).toEqual([150, 1])
  for (let i = 0; i < 40; i++) pace.answered(10)
  expect(now()).toEqual([500, 8])
})
