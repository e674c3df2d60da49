import { afterEach, describe, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 200
const BUYERS = 230
const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

/** Role, fault point, and the passage at which it dies: late enough that there is something to lose. */
const DEATHS: readonly (readonly ['edge' | 'worker', string, number])[] = [
  ['edge', 'reserve.before', 3],
  ['edge', 'reserve.after', 3],
  ['edge', 'answer.before', 20],
  ['worker', 'outbox.take', 4],
  ['worker', 'place.before', 3],
  ['worker', 'place.after', 3],
  ['worker', 'outbox.done', 3],
]

describe('kill -9 of a part under load, at each fault point: the others go on, nothing is lost and nothing happens twice:', () => {
  for (const [role, point, passage] of DEATHS) {
    test(`${role} at ${point}`, async () => {
      const cluster = await Cluster.start(playground, {
        edges: 2,
        workers: 2,
        keepers: 1,
        faultPoints: { [role]: `${point}=kill@${passage}` },
      })
      const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
      const buying = meanwhile(stage.everybodyBuys())
      const died = await Promise.race(
        cluster.of(role).map(async member => [member, await member.server().exited] as const),
      )
      expect(died[1]).toEqual({ code: null, signal: 'SIGKILL' })
      await died[0].startAgain()
      await stage.judge(await within('everybody has an answer', SOON_MS, buying))
    }, 300_000)
  }
})
