import { expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import { createCopiesWait, type EntryCopies, noCopies } from './entry-copies.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

const silent = () => Promise.reject(new Fault('kafka_away', 'the log does not answer', { retryable: true }))

/** A wait on a clock that the test moves. */
function waitFor(entryCopies: EntryCopies, changes: Partial<Clock> = {}) {
  const alarms: string[] = []
  const time = { ms: 0 }
  const nothing = () => {}
  const log: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const clock = { ...systemClock, ...changes, elapsed: () => time.ms }
  const alarm = (what: string) => void alarms.push(what)
  return { arePlaced: createCopiesWait({ entryCopies, clock, log, alarm }, '1', 2), time, alarms }
}

test('without copies there is nothing to wait for', async () => {
  expect(await waitFor(noCopies).arePlaced()).toBe(true)
})

test('copies are waited for up to the end they had, not up to what came later', async () => {
  let placed = 3n
  let end = 5n
  const { arePlaced, alarms } = waitFor({
    ends: async () => new Map([[0, end]]),
    unplaced: async ends => (ends.get(0) ?? 0n) - placed,
  })
  expect(await arePlaced()).toBe(false)
  end = 1_000n
  placed = 5n
  expect(await arePlaced()).toBe(true)
  expect(alarms).toEqual([])
})

test('a log that does not answer, or is not read, holds a drain up for a bounded time, with an alarm', async () => {
  const away = waitFor({ ends: silent, unplaced: silent })
  expect(await away.arePlaced()).toBe(false)
  away.time.ms = 2_900
  expect(await away.arePlaced()).toBe(false)
  away.time.ms = 3_000
  expect(await away.arePlaced()).toBe(true)
  expect(away.alarms).toEqual(['copies_unread'])

  const unread = waitFor({ ends: async () => new Map([[0, 1n]]), unplaced: async () => 1n })
  for (unread.time.ms = 0; unread.time.ms < 15_000; unread.time.ms += 1_000)
    expect(await unread.arePlaced()).toBe(false)
  expect(await unread.arePlaced()).toBe(true)
  expect(unread.alarms).toEqual(['copies_unread'])
})

test('a log that is read slowly is waited for; the time counts from the last message that was placed', async () => {
  let left = 5n
  const { arePlaced, time, alarms } = waitFor({ ends: async () => new Map([[0, 5n]]), unplaced: async () => left })
  for (; left > 1n; left -= 1n) {
    expect(await arePlaced()).toBe(false)
    time.ms += 14_000
  }
  expect(await arePlaced()).toBe(false)
  time.ms += 14_000
  expect(await arePlaced()).toBe(false)
  expect(alarms).toEqual([])
  time.ms += 1_000
  expect(await arePlaced()).toBe(true)
  expect(alarms).toEqual(['copies_unread'])
})

test('a call that never ends holds a drain up no longer than a log that does not answer', async () => {
  const asked: number[] = []
  const sleep = async (ms: number) => void asked.push(ms)
  const never = () => new Promise<never>(() => {})
  const { arePlaced, time, alarms } = waitFor({ ends: never, unplaced: never }, { sleep })
  expect(await arePlaced()).toBe(false)
  expect(asked).toEqual([3_000])
  time.ms = 3_000
  expect(await arePlaced()).toBe(true)
  expect(alarms).toEqual(['copies_unread'])
})

test('a gate that is lost is not built anew before the copies are placed (E4)', async () => {
  const { item } = await stage.fresh({ units: 5 })
  const log = { placed: true, asked: 0 }
  const keeper = stage.keeper({
    entryCopies: {
      ends: async () => new Map([[0, 1n]]),
      async unplaced() {
        log.asked += 1
        return log.placed ? 0n : 1n
      },
    },
  })
  const { epoch } = await keeper.untilDoor(item, 'gate')
  log.placed = false
  log.asked = 0
  stage.restartEmpty()
  await until('the drain asks for the copies, again and again', async () => {
    await keeper.round()
    return log.asked >= 3
  })
  expect(await stage.rights(item)).toMatchObject({ door: 'draining' })
  log.placed = true
  expect((await keeper.untilDoor(item, 'gate')).epoch).toBeGreaterThan(epoch)
})
