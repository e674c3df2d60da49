import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { busyMs } from './recovery-cases.ts'

const playground = new Playground()
afterEach(() => playground.undo())

const FENCE_MS = 1_500
const AWAY_MS = 3_800
/** Beyond the outage itself and the fence: noticing, connecting, building. */
const REST_MS = 3_000

test('Redis is away for as long as it takes to begin without it: one fence is waited for, not two', async () => {
  const ms = await busyMs(playground, AWAY_MS, FENCE_MS)
  const promisedMs = AWAY_MS + FENCE_MS + REST_MS
  console.log(`  away for ${AWAY_MS} ms, FENCE_MS ${FENCE_MS}: busy for ${Math.round(ms)} ms (promised: ${promisedMs})`)
  expect(ms).toBeLessThan(5 * promisedMs)
}, 300_000)
