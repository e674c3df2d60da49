import { expect, test } from 'bun:test'
import type { Clock } from '../base/clock.ts'
import { noMeters } from '../base/meters.ts'
import { systemRandom } from '../base/random.ts'
import { createOperators } from './operator.ts'
import { OperatorGuard } from './operator-guard.ts'

const TOKEN = 'the right token of ada'
const MINUTE_MS = 60_000

function stage() {
  let ms = 0
  const lines: object[] = []
  const clock: Clock = { now: () => ms, elapsed: () => ms, sleep: async () => {} }
  const log = { debug() {}, info() {}, error() {}, warn: (fields: object) => void lines.push(fields) }
  const operators = createOperators([{ name: 'ada', role: 'viewer', token: TOKEN }])
  const guard = new OperatorGuard({ operators, clock, random: systemRandom, meters: noMeters, log })
  return {
    guard,
    lines,
    pass(more: number) {
      ms += more
    },
    guess: (address: string, times: number) =>
      Array.from({ length: times }, (_, i) => guard.check(`guess ${i}`, address).kind),
  }
}

test('ten tries a minute from an address, and past them a right token hears the same as a wrong one', () => {
  const { guard, guess, pass } = stage()
  expect(guess('a', 12)).toEqual([...Array(10).fill('wrong'), 'rate_limited', 'rate_limited'])
  expect(guard.check(TOKEN, 'a')).toEqual(guard.check('another guess', 'a'))
  expect(guard.check(TOKEN, 'b')).toEqual({ kind: 'accepted', operator: { name: 'ada', role: 'viewer' } })
  pass(MINUTE_MS + 1)
  expect(guard.check(TOKEN, 'a').kind).toBe('accepted')
})

test('a token that was accepted from an address stays accepted there, and uses up no tries', () => {
  const { guard, guess } = stage()
  for (let i = 0; i < 50; i++) expect(guard.check(TOKEN, 'a').kind).toBe('accepted')
  expect(guess('a', 10).filter(kind => kind === 'wrong').length).toBe(9)
  expect(guard.check(TOKEN, 'a').kind).toBe('accepted')
  // At most a thousand addresses are remembered, those used last.
  for (let i = 0; i < 1000; i++) guard.check(TOKEN, `elsewhere ${i}`)
  expect(guard.check(TOKEN, 'a').kind).toBe('rate_limited')
})

test('guessing is over ten minutes after the last try beyond the limit, and costs one log line in ten seconds', () => {
  const { guard, guess, lines, pass } = stage()
  guess('a', 10)
  expect(guard.guessing()).toBeUndefined()
  guess('a', 3)
  expect(guard.guessing()).toMatchObject({ count: 3, address: 'a' })
  pass(10_000)
  guess('b', 11)
  expect(guard.guessing()).toMatchObject({ count: 4, address: 'b' })
  expect(lines).toEqual([
    { event: 'operator_refused', address: 'a', refused: 1 },
    { event: 'operator_refused', address: 'b', refused: 13 },
  ])
  pass(10 * MINUTE_MS + 1)
  expect(guard.guessing()).toBeUndefined()
})
