/** Redis restarted again and again, empty and with an old file, with cancels and closings and two keepers. How long, the caller says. */

import { expect } from 'bun:test'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import type { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 120
const BUYERS = 200
const EVERY_MS = 2_000
const SOON_MS = 120_000

export async function rebuildStorm(playground: Playground, forMs: number): Promise<void> {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2, fenceMs: 300 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, payWithinSeconds: 5, attemptsMax: 1 })
  const { redis } = cluster
  const epochs: number[] = []
  const watching = new AbortController()
  const watch = (async () => {
    while (!watching.signal.aborted) {
      const [line] = await stage.shop.audit(stage.sale.id).catch(() => [])
      if (line !== undefined && line.epoch !== epochs.at(-1)) epochs.push(line.epoch)
      await systemClock.sleep(50, watching.signal)
    }
  })()

  const buying = meanwhile(stage.everybodyBuys())
  const files = join(redis.dir, 'appendonlydir')
  const old = `${files}-old`
  cpSync(files, old, { recursive: true })
  const untilMs = systemClock.elapsed() + forMs
  for (let i = 0; systemClock.elapsed() < untilMs; i++) {
    await systemClock.sleep(EVERY_MS)
    await redis.kill()
    // In turn: nothing at all, and the file as it was at the beginning.
    if (i % 3 !== 2) rmSync(files, { recursive: true, force: true })
    if (i % 3 === 1) cpSync(old, files, { recursive: true })
    await redis.start()
  }
  await within('everybody has an answer', SOON_MS, buying)
  // Nobody pays, so at the end every unit is on sale again, once.
  await stage.allUnsold()
  watching.abort()
  await watch
  rmSync(old, { recursive: true, force: true })
  expect(epochs).toEqual(epochs.toSorted((a, b) => a - b))
  await until('the gate under the ledger’s epoch', async () => {
    const [line] = await stage.shop.audit(stage.sale.id)
    return line?.gate !== null && line?.door === 'gate'
  })
  console.log(`  epochs ${epochs[0]} to ${epochs.at(-1)}`)
}
