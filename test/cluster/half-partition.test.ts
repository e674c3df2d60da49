import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 300
const BUYERS = 340
const FENCE_MS = 1_500
const SOON_MS = 60_000

const playground = new Playground()
afterEach(() => playground.undo())

/** The keeper loses Redis with edge A and takes the item for the ledger; edge B still reaches Redis and would go on selling there. */
test('half of the cluster loses Redis: nothing is sold through the ledger before the fence has passed, and every word of the other half is kept', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 1, roads: true, fenceMs: FENCE_MS })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const [edgeA, edgeB] = cluster.edges()
  const [keeper] = cluster.of('keeper')
  const [workerA] = cluster.of('worker')
  const doors: { door: string; atMs: number }[] = []
  const watching = new AbortController()
  const watch = (async () => {
    while (!watching.signal.aborted) {
      const [line] = await stage.shop.audit(stage.sale.id).catch(() => [])
      if (line !== undefined && line.door !== doors.at(-1)?.door)
        doors.push({ door: line.door, atMs: systemClock.elapsed() })
      await systemClock.sleep(20, watching.signal)
    }
  })()

  const buying = meanwhile(stage.everybodyBuys())
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  for (const member of [edgeA, keeper, workerA]) member?.redisRoad?.cut()
  expect(edgeB?.redisRoad).toBeDefined()
  await until('a door that is the ledger', () => doors.some(({ door }) => door === 'ledger'), SOON_MS)
  await within('half of it sold', SOON_MS, stage.shop.placed(UNITS / 2))
  for (const member of [edgeA, keeper, workerA]) member?.redisRoad?.mend()
  const outcomes = await within('everybody has an answer', 120_000, buying)
  await until('a door that is the gate again', () => doors.at(-1)?.door === 'gate', SOON_MS)
  watching.abort()
  await watch
  console.log(`  doors: ${doors.map(({ door, atMs }) => `${door} ${Math.round(atMs - doors[0]!.atMs)} ms`).join(', ')}`)

  const ledger = doors.findIndex(({ door }) => door === 'ledger')
  const draining = doors.slice(0, ledger).findLast(({ door }) => door === 'draining')
  // Seen from outside every 20 ms or so: the look that saw "draining" may have come late.
  expect(doors[ledger]!.atMs - draining!.atMs, 'the fence was waited for').toBeGreaterThan(FENCE_MS - 250)
  await stage.judge(outcomes)
}, 240_000)
