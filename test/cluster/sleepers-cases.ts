/** A part is stopped for longer than every lease, and Redis is restarted meanwhile: when it wakes, it does nothing under an old epoch. */

import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import type { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 200
const BUYERS = 230
const SOON_MS = 120_000
/** Longer than the fence, the lease of a node, of an outbox and of the keeper's right. */
const ASLEEP_MS = 14_000

export async function sleepThrough(playground: Playground, role: 'edge' | 'worker' | 'keeper'): Promise<void> {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 2 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, atATime: 8 })
  const before = (await stage.shop.audit(stage.sale.id))[0]!.epoch
  const buying = meanwhile(stage.everybodyBuys())
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  const sleeper = cluster.of(role)[0]!
  sleeper.freeze()
  const wakeAtMs = systemClock.elapsed() + ASLEEP_MS
  cluster.passOver(sleeper)
  await cluster.redis.kill()
  await cluster.redis.start()
  await until(
    'a gate under a new epoch',
    async () => {
      const [line] = await stage.shop.audit(stage.sale.id).catch(() => [])
      return line !== undefined && line.epoch > before && line.door === 'gate'
    },
    SOON_MS,
  )
  await systemClock.sleep(wakeAtMs - systemClock.elapsed())
  sleeper.wake()
  cluster.passOver(undefined)
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}
