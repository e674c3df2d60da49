import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { keepAhead } from './opening.ts'

/** Buyers who need so long for their tickets, or are refused in the end; a second is a tenth of a turn of the loop. */
async function open(ticketsMs: number, refused = false) {
  let nowMs = 0
  const moves: number[] = []
  const clock: Clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    async sleep(ms, signal) {
      if (signal?.aborted) return
      nowMs += ms
      await new Promise(setImmediate)
    },
  }
  const move = async (toMs: number) => {
    moves.push(toMs)
  }
  const opening = { clock, serverNow: () => nowMs, opensAtMs: 3_000, nearMs: 2_000, marginMs: 1_000, move }
  const work = async () => {
    while (nowMs < ticketsMs) await new Promise(setImmediate)
    if (refused) throw new Fault('refused', 'guests are not let in there')
    return 'tickets'
  }
  const opened = await keepAhead(opening, 500, work).catch((error: Error) => error.message)
  const during = moves.length
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
  return { opened, endedMs: nowMs, during, after: moves.length - during }
}

test('the opening stays ahead of those who wait for their tickets', async () => {
  const { opened, endedMs, during } = await open(20_000)
  expect(opened).toMatchObject({ done: 'tickets' })
  expect((opened as { opensAtMs: number }).opensAtMs - endedMs).toBeGreaterThanOrEqual(1_500)
  expect(during).toBeGreaterThan(5)
})

test('who has tickets in time opens as planned', async () => {
  expect(await open(200)).toMatchObject({ opened: { opensAtMs: 3_000 }, during: 0 })
})

test('when the buyers are refused, nobody moves the opening any more', async () => {
  const { opened, endedMs, after } = await open(10_000, true)
  expect({ opened, after }).toEqual({ opened: 'guests are not let in there', after: 0 })
  expect(endedMs).toBeLessThan(11_000)
})
