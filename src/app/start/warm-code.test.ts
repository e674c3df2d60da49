import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Registry } from '../../flows/sell/live-item.ts'
import type { LocalView } from '../../gate/local-view.ts'
import { CodeWarmer } from './warm-code.ts'

/** A shop whose n-th lot of 1,000 orders takes `costs(n)` ms, on a clock that only the shop and waiting move. */
function setUp(opensInMs: number, costs: (lot: number) => number) {
  let nowMs = 1_000_000
  const lines: string[] = []
  const rested: number[] = []
  const sold = { version: 0 }
  let lots = 0
  const clock: Clock = {
    now: () => nowMs,
    elapsed: () => nowMs,
    async sleep(ms) {
      nowMs += ms
      rested.push(ms)
    },
  }
  const write = (_: unknown, line: string) => void lines.push(line)
  const log: Log = { debug() {}, info: write, warn: write, error: write }
  const live = { sale: { opensAtMs: nowMs + opensInMs }, item: { id: '1' }, queue: { depth: () => 0 } }
  const warmer = new CodeWarmer({
    clock,
    log,
    signal: new AbortController().signal,
    registry: new Map([['1', live]]) as unknown as Registry,
    view: {
      nowMs: () => nowMs,
      shown: () => sold as never,
      // Would have the gate asked for the status of every item there is.
      statusNow: () => expect.unreachable(),
    } as Pick<LocalView, 'nowMs' | 'shown'>,
    openShop: () => ({
      async sellSome() {
        nowMs += costs(lots++)
        return 1_000
      },
    }),
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { warmer, lines, rested, sold, pass, lots: () => lots, nowMs: () => nowMs, opensAtMs: live.sale.opensAtMs }
}

test('runs until an order does not get cheaper any more', async () => {
  const { warmer, lines, lots } = setUp(1_800_000, lot => Math.max(30, 100 - 10 * lot))
  await warmer.round()
  expect(lots()).toBe(8 + 10)
  expect(lines).toEqual(['the code is warm for the next opening'])
})

test('runs once when a sale is ahead and once more shortly before the opening', async () => {
  const { warmer, lots, pass } = setUp(1_800_000, () => 30)
  await warmer.round()
  const first = lots()
  await warmer.round()
  pass(1_700_000)
  await warmer.round()
  expect(lots()).toBe(first)
  pass(94_000)
  await warmer.round()
  expect(lots()).toBe(2 * first)
  await warmer.round()
  expect(lots()).toBe(2 * first)
})

test('ends before the opening, and after four seconds however it goes', async () => {
  for (const opensInMs of [2_000, 100_000]) {
    const { warmer, nowMs, opensAtMs } = setUp(opensInMs, lot => 1_000 / (lot + 1) ** 2 + 20)
    const fromMs = nowMs()
    await warmer.round()
    expect(nowMs()).toBeLessThan(opensAtMs)
    expect(nowMs() - fromMs).toBeLessThan(5_000)
  }
})

test('does not run when the opening is a moment away or nothing is ahead', async () => {
  for (const opensInMs of [-5_000, 400]) {
    const { warmer, lots } = setUp(opensInMs, () => 30)
    await warmer.round()
    expect(lots()).toBe(0)
  }
})

test('rests while anything is sold here', async () => {
  const { warmer, rested, sold } = setUp(1_800_000, lot => {
    if (lot === 1) sold.version += 1
    return 30
  })
  await warmer.round()
  expect(rested.length).toBe(1)
})

test('a ledger that does not answer costs the warm-up, not the process', async () => {
  const { warmer, lines } = setUp(1_800_000, () => {
    throw new Fault('ledger_away', 'away', { retryable: true })
  })
  await warmer.round()
  expect(lines).toEqual(['the code could not be warmed; the first orders are slower'])
})
