import { afterEach, expect, test } from 'bun:test'
import { Playground } from '../harness/playground.ts'
import { busyMs } from './recovery-cases.ts'

/** The rows of docs/clustering.md. */

const playground = new Playground()
afterEach(() => playground.undo())

const AWAY_S = [0.2, 1, 2, 2.7, 3.5, 5, 6.5, 8, 10, 15]
const REST_S = 3

for (const fenceS of [5, 2])
  for (const awayS of AWAY_S)
    test(`Redis is away for ${awayS} s, FENCE_MS ${fenceS * 1_000}`, async () => {
      const busyS = (await busyMs(playground, awayS * 1_000, fenceS * 1_000)) / 1_000
      const promisedS = awayS + fenceS + REST_S
      console.log(`  | ${fenceS} s | ${awayS} s | ${busyS.toFixed(1)} s | ${promisedS.toFixed(1)} s |`)
      expect(busyS).toBeLessThan(5 * promisedS)
    }, 300_000)
