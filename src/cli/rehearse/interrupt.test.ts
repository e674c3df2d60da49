import { expect, test } from 'bun:test'
import { createInterrupt } from './interrupt.ts'

/** What was done by signals that came at these moments. */
function at(...moments: readonly number[]): string[] {
  let nowMs = 0
  const done: string[] = []
  const clock = { now: () => nowMs, elapsed: () => nowMs, sleep: async () => {} }
  const interrupt = createInterrupt(
    clock,
    () => done.push('stop'),
    () => done.push('exit'),
  )
  for (const moment of moments) {
    nowMs = moment
    interrupt()
  }
  return done
}

test('the first signal stops, and one that comes after a while ends it', () => {
  expect(at(1_000)).toEqual(['stop'])
  expect(at(1_000, 1_600)).toEqual(['stop', 'exit'])
})

test('what comes again within a moment is the same signal', () => {
  expect(at(0, 0, 3, 400)).toEqual(['stop'])
  expect(at(0, 2, 900)).toEqual(['stop', 'exit'])
})
