import { expect, test } from 'bun:test'
import { Fault } from '../../base/fault.ts'
import { ANNOUNCED_AHEAD_MS, openSoon } from './opening.ts'

const LEAST_MS = 2_500

/** A server that needs so long for each change of the opening: half before it decides, half before its answer arrives. */
async function open(takesMs: (moved: number) => number) {
  let nowMs = 0
  let openedMs = ANNOUNCED_AHEAD_MS
  let asked = 0
  const move = async (toMs: number) => {
    const halfMs = takesMs(asked++) / 2
    nowMs += halfMs
    if (nowMs >= openedMs) throw new Fault('not_changeable', 'the sale has opened already')
    if (toMs <= nowMs) throw new Fault('not_changeable', 'must not lie in the past')
    openedMs = toMs
    nowMs += halfMs
  }
  const opensAtMs = await openSoon(LEAST_MS, () => nowMs, move).catch((error: Error) => error.message)
  return { opensAtMs, asked, spareMs: Number(opensAtMs) - nowMs, isKnown: opensAtMs === openedMs }
}

test('the opening is near, and no nearer than the first clicks need', async () => {
  expect(await open(() => 20)).toMatchObject({ asked: 2, spareMs: 2 * LEAST_MS - 20, isKnown: true })
})

test('a server that takes long to move the opening gets one further away', async () => {
  const slow = await open(() => 9_000)
  expect(slow).toMatchObject({ asked: 2, isKnown: true })
  expect(slow.spareMs).toBeGreaterThanOrEqual(LEAST_MS)
})

test('a server that becomes so slow that the opening asked for is over gets another one', async () => {
  const slower = await open(asked => [100, 20_000][asked] ?? 100)
  expect(slower).toMatchObject({ asked: 3, isKnown: true })
  expect(slower.spareMs).toBeGreaterThanOrEqual(LEAST_MS)
})

test('a sale that opened while the answer was on its way can’t be rehearsed', async () => {
  expect((await open(asked => (asked === 0 ? 100 : 6_000))).opensAtMs).toBe('the sale has opened already')
})

test('a refusal for another reason ends it at once', async () => {
  let asked = 0
  const move = async () => {
    asked += 1
    throw new Fault('token_refused', 'no')
  }
  expect(await openSoon(LEAST_MS, () => 0, move).catch((error: Error) => error.message)).toBe('no')
  expect(asked).toBe(1)
})
