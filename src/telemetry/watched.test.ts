import { expect, test } from 'bun:test'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { type Watched, watchedMetrics } from './watched.ts'

/** A ledger that takes as long as the test says, or does not answer. */
function openLedger() {
  let ms = 0
  const ledger = {
    reads: 0,
    tookMs: 0,
    away: false,
    pass(byMs: number) {
      ms += byMs
    },
  }
  const clock: Clock = { now: () => ms, elapsed: () => ms, sleep: async () => {} }
  const watched = {
    async pieces() {
      ledger.reads += 1
      ms += ledger.tookMs
      if (ledger.away) throw new Fault('ledger_away', 'away', { retryable: true })
      return { available: 1, left: 1, held: 0, pending: 0, paid: 0, releasing: 0, oldestReleaseMs: 0 }
    },
  } as Pick<Watched, 'pieces'> as Watched
  const metric = watchedMetrics(watched, clock).find(one => one.name === 'stampede_pieces')!
  return { ledger, read: async () => (await metric.read()).length }
}

test('what the ledger has to count is read every two seconds at most, and more seldom the longer it takes', async () => {
  const { ledger, read } = openLedger()
  for (let i = 0; i < 5; i++) expect(await read()).toBe(5)
  expect(ledger.reads).toBe(1)
  ledger.pass(2_000)
  ledger.tookMs = 500
  await read()
  ledger.pass(9_999)
  await read()
  expect(ledger.reads).toBe(2)
  ledger.pass(1)
  await read()
  expect(ledger.reads).toBe(3)
})

test('a ledger that was away for long is read again at once when it is back', async () => {
  const { ledger, read } = openLedger()
  ledger.away = true
  ledger.tookMs = 10_000
  expect(await read()).toBe(0)
  ledger.away = false
  ledger.tookMs = 1
  expect(await read()).toBe(5)
})
