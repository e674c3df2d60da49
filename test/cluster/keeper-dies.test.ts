import { afterEach, describe, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 150
const BUYERS = 170
const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

/** Each step of a rebuild, and the way of an order that ends. */
const REBUILD = [
  'rebuild.bumped',
  'rebuild.fenced',
  'rebuild.drained',
  'rebuild.snapshot',
  'rebuild.activated',
  'door.turned',
]
const ENDING = ['close.before', 'close.after', 'release.before', 'release.done']

describe('the acting keeper dies in the middle of a rebuild; the other takes over under a higher epoch:', () => {
  for (const point of REBUILD) {
    test(`at ${point}`, async () => {
      // The first passage is the warm-up of the sale itself.
      const cluster = await Cluster.start(playground, {
        edges: 2,
        workers: 1,
        keepers: 2,
        faultPoints: { keeper: `${point}=kill@2` },
      })
      const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
      const before = (await stage.shop.audit(stage.sale.id))[0]!.epoch
      const buying = meanwhile(stage.everybodyBuys())
      await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
      await cluster.redis.kill()
      await cluster.redis.start()
      const keepers = cluster.of('keeper')
      const [dead, exit] = await within(
        'the death of the acting keeper',
        SOON_MS,
        Promise.race(keepers.map(async keeper => [keeper, await keeper.server().exited] as const)),
      )
      expect(exit).toEqual({ code: null, signal: 'SIGKILL' })
      await dead.startAgain()
      await stage.judge(await within('everybody has an answer', SOON_MS, buying))
      // Behind an open door nobody has to start over.
      const raises = point === 'door.turned' ? 1 : 2
      expect((await stage.shop.audit(stage.sale.id))[0]!.epoch).toBeGreaterThanOrEqual(before + raises)
    }, 300_000)
  }
})

describe('the keeper dies on the way of an order that ends; its unit is on sale again once:', () => {
  for (const point of ENDING) {
    test(`at ${point}`, async () => {
      const cluster = await Cluster.start(playground, {
        edges: 2,
        workers: 1,
        keepers: 2,
        faultPoints: { keeper: `${point}=kill` },
      })
      const stage = await Stage.set(cluster, { units: UNITS, buyers: UNITS, payWithinSeconds: 2 })
      const keepers = cluster.of('keeper')
      // Of those that run now: one that dies while people buy is another process by the time they all have.
      const deaths = keepers.map(keeper => keeper.server().exited)
      let watching = true
      playground.onUndo(() => {
        watching = false
      })
      // As a service manager does it. The second may die in the same place, with what the first left to it.
      const revived = meanwhile(
        Promise.all(
          keepers.map(async (keeper, i) => {
            await deaths[i]
            if (watching) await keeper.startAgain()
          }),
        ),
      )
      const outcomes = await stage.everybodyBuys()
      expect(outcomes.filter(told => 'order' in told.answer)).toHaveLength(UNITS)
      const exit = await within('the death of the acting keeper', SOON_MS, Promise.race(deaths))
      expect(exit).toEqual({ code: null, signal: 'SIGKILL' })
      await stage.allUnsold()
      watching = false
      await Promise.race([revived, systemClock.sleep(0)])
    }, 300_000)
  }
})
