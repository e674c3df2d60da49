import { expect, test } from 'bun:test'
import type { EventLog } from '../../ledger/events.ts'
import { createEventKeeper } from './keep-events.ts'

/** A log of so many rows to number and to sweep; every call is noted. */
function scene({ rows = 0, old = 0, opened = 0 } = {}) {
  const calls: string[] = []
  const numbered: number[] = []
  let newest = 0
  let elapsedMs = 0
  let left = { rows, old, opened }
  const take = (what: keyof typeof left, max: number) => {
    const taken = Math.min(left[what], max)
    left = { ...left, [what]: left[what] - taken }
    calls.push(`${what} ${taken}`)
    return taken
  }
  const eventLog = {
    async number(max: number) {
      const taken = take('rows', max)
      newest += taken
      return { newest, rows: taken, more: taken === max }
    },
    noteOpened: async (max: number) => Array.from({ length: take('opened', max) }, (_, i) => String(i)),
    async noteClosingSoon() {
      calls.push('soon')
      return 0
    },
    sweep: async (_keptMs: number, max: number) => take('old', max),
  } as unknown as EventLog
  const clock = { now: () => 0, elapsed: () => elapsedMs, sleep: async () => {} }
  return {
    calls,
    numbered,
    round: (settings: { keptMs?: number; closingSoonMs?: number } = { keptMs: 1_000, closingSoonMs: 1_000 }) =>
      createEventKeeper({
        eventLog,
        clock,
        closingSoonMs: settings.closingSoonMs,
        keptMs: settings.keptMs,
        onNumbered: [newest => void numbered.push(newest)],
      }),
    pass: (ms: number) => {
      elapsedMs += ms
    },
  }
}

test('numbers are given every round; what is due is asked for twice a second, what is old once a minute', async () => {
  const { calls, round, pass } = scene()
  const keep = round()
  expect(await keep()).toBe(false)
  expect(calls.splice(0)).toEqual(['opened 0', 'soon', 'rows 0', 'old 0'])
  pass(200)
  await keep()
  expect(calls.splice(0)).toEqual(['rows 0'])
  pass(300)
  await keep()
  expect(calls.splice(0)).toEqual(['opened 0', 'soon', 'rows 0'])
  pass(60_000)
  await keep()
  expect(calls.splice(0)).toEqual(['opened 0', 'soon', 'rows 0', 'old 0'])
})

test('while there is more, the next round follows at once, and listeners hear the newest number of each', async () => {
  const { calls, numbered, round } = scene({ rows: 2_500, old: 1_200, opened: 150 })
  const keep = round()
  expect(await keep()).toBe(true)
  expect(calls.splice(0)).toEqual(['opened 100', 'soon', 'rows 1000', 'old 1000'])
  expect(await keep()).toBe(true)
  expect(calls.splice(0)).toEqual(['opened 50', 'soon', 'rows 1000', 'old 200'])
  expect(await keep()).toBe(false)
  expect(calls.splice(0)).toEqual(['rows 500'])
  expect(await keep()).toBe(false)
  expect(numbered).toEqual([1_000, 2_000, 2_500])
})

test('what is off is not asked for', async () => {
  const { calls, round } = scene()
  await round({})()
  expect(calls).toEqual(['opened 0', 'rows 0'])
})
