import { expect, test } from 'bun:test'
import type { Clock } from '../../base/clock.ts'
import { describeFault, killMidRun } from './mid-run-fault.ts'

const OPEN_MS = 5_000
const VICTIM = { name: 'worker-1', role: 'worker', pid: 4711, startTicks: '1' } as const

/** Time goes on by what is slept. Sells so many a millisecond from the opening on. */
function stage(soldPerMs: number, over = new AbortController().signal) {
  let atMs = OPEN_MS - 100
  const clock: Clock = {
    now: () => atMs,
    elapsed: () => atMs,
    async sleep(ms) {
      atMs += ms
    },
  }
  const toldCount = () => Math.max(0, Math.floor((atMs - OPEN_MS) * soldPerMs))
  return { clock, openMs: OPEN_MS, item: '7', units: 100, lastArrivalMs: 1_000, toldCount, over }
}
const plan = { role: 'worker', kill: () => VICTIM } as const

test('kills when half of the units are told sold, or half of the clicks’ time has passed', async () => {
  expect(await killMidRun(plan, stage(1))).toEqual({ role: 'worker', part: 'worker-1', atMs: 50, missed: null })
  expect(await killMidRun(plan, stage(0))).toMatchObject({ part: 'worker-1', atMs: 500 })
})

test('the kill gets the item that is sold', async () => {
  const items: string[] = []
  const kill = (item: string) => {
    items.push(item)
    return VICTIM
  }
  await killMidRun({ role: 'worker', kill }, stage(1))
  expect(items).toEqual(['7'])
})

test('a kill that fails or never comes is described', async () => {
  const kill = () => {
    throw new Error('there is no worker')
  }
  const failed = await killMidRun({ role: 'worker', kill }, stage(1))
  expect(failed).toMatchObject({ part: null, atMs: null, missed: 'there is no worker' })
  expect(describeFault(failed)).toBe('no worker was killed: there is no worker')
  const over = new AbortController()
  over.abort()
  expect(await killMidRun(plan, stage(1, over.signal))).toMatchObject({ part: null, missed: expect.any(String) })
})
