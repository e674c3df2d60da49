import { expect, test } from 'bun:test'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { createGauges, type GaugeSources, type OutboxBacklog } from './gauges.ts'

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
  const sources = {
    async units() {
      ledger.reads += 1
      ms += ledger.tookMs
      if (ledger.away) throw new Fault('ledger_away', 'away', { retryable: true })
      return { available: 1, left: 1, held: 0, pending: 0, paid: 0, releasing: 0, oldestReleaseMs: 0 }
    },
  } as Pick<GaugeSources, 'units'> as GaugeSources
  const metric = createGauges(sources, clock).find(one => one.name === 'stampede_pieces')!
  return { ledger, read: async () => (await metric.read()).length }
}

test('units are read from the ledger every two seconds at most, and less often the longer it takes', async () => {
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

test('an outbox that answers in part shows its part and how many items are missing; one that does not answer, only that', async () => {
  const clock: Clock = { now: () => 0, elapsed: () => 0, sleep: async () => {} }
  const shown = async (backlog: OutboxBacklog) => {
    const sources = { outbox: async () => backlog } as Pick<GaugeSources, 'outbox'> as GaugeSources
    const metrics = createGauges(sources, clock).filter(({ name }) => name.startsWith('stampede_outbox'))
    return Promise.all(metrics.map(async one => (await one.read())[0]?.value))
  }
  expect(await shown({ seen: { entries: 2, units: 3, oldestMs: 1_500 }, itemsAway: 1 })).toEqual([2, 3, 1.5, 1])
  expect(await shown({ seen: { entries: 0, units: 0, oldestMs: 0 }, itemsAway: 0 })).toEqual([0, 0, 0, 0])
  expect(await shown({ seen: undefined, itemsAway: 7 })).toEqual([undefined, undefined, undefined, 7])
})
