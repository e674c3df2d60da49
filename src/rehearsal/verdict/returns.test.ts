import { expect, test } from 'bun:test'
import { systemClock } from '../../base/clock.ts'
import { Audits } from './audits.ts'

/** Audits a second apart, each answered after a tenth of one. */
function seen(releases: readonly number[], door: 'gate' | 'draining' = 'gate'): Audits {
  const returns = new Audits('1', systemClock)
  for (const [i, count] of releases.entries()) returns.observe({ releases: count, door }, i * 1_000, i * 1_000 + 100)
  return returns
}

test('the time from the first answer that showed one to the last question that did: never more than it was', () => {
  expect(seen([0, 1, 1, 1, 0]).longestMs).toBe(1_900)
  expect(seen([3, 2, 1]).longestMs).toBe(1_900)
  expect(seen([0, 5, 0]).longestMs).toBe(0)
})

test('one that came back in between, and more than before, are others', () => {
  expect(seen([1, 1, 0, 1, 1]).longestMs).toBe(900)
  expect(seen([1, 1, 2, 2]).longestMs).toBe(900)
})

test('those still on their way are held to the time since when some always were, not to what others waited before', () => {
  expect(seen([1, 1, 1, 1, 0]).openMs).toBe(0)
  expect(seen([1, 1, 1, 1, 0, 1]).openMs).toBe(0)
  expect(seen([1, 1, 1, 1, 0, 1, 1]).openMs).toBe(900)
  // One that is stuck is not forgotten because another one joins it.
  expect(seen([1, 1, 1, 2]).openMs).toBe(2_900)
})

test('what happened while nobody looked is not counted', () => {
  const returns = seen([1, 1])
  returns.pause()
  returns.observe({ releases: 1, door: 'gate' }, 60_000, 60_100)
  expect({ longestMs: returns.longestMs, openMs: returns.openMs }).toEqual({ longestMs: 900, openMs: 0 })
})

test('a rebuild that they waited for is remembered', () => {
  expect(seen([1], 'draining').rebuilt).toBe(true)
  expect([seen([0], 'draining').rebuilt, seen([1]).rebuilt]).toEqual([false, false])
})
