import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { keepAhead } from './opening.ts'

/** Buyers who need so long for their tickets, or are refused in the end; a second is a tenth of a turn of the loop. */
async function open(ticketsMs: number, { refused = false, moveMs = (moved: number) => 0 * moved } = {}) {
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
  let openedMs = 3_000
  const move = async (toMs: number) => {
    const arrivesMs = nowMs + moveMs(moves.length)
    while (nowMs < arrivesMs) {
      nowMs += 100
      await new Promise(setImmediate)
    }
    if (nowMs >= openedMs) throw new Fault('refused', 'the sale has opened already')
    openedMs = toMs
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

test('a server that takes longer and longer to move the opening is asked earlier and earlier', async () => {
  const { opened, endedMs } = await open(60_000, { moveMs: moved => 400 * 1.4 ** moved })
  expect((opened as { opensAtMs: number }).opensAtMs - endedMs).toBeGreaterThanOrEqual(1_500)
})

test('who has tickets in time opens as planned', async () => {
  expect(await open(200)).toMatchObject({ opened: { opensAtMs: 3_000 }, during: 0 })
})

test('when the buyers are refused, nobody moves the opening any more', async () => {
  const { opened, endedMs, after } = await open(10_000, { refused: true })
  expect({ opened, after }).toEqual({ opened: 'guests are not let in there', after: 0 })
  expect(endedMs).toBeLessThan(11_000)
})
