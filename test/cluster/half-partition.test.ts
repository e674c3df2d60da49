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
const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

/** The keeper loses Redis with edge A and takes the item for the ledger; edge B still reaches Redis and would go on selling there. */
test('half of the cluster loses Redis: nothing is sold through the ledger before the fence has passed, and every word of the other half is kept', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 2, keepers: 1, roads: true, fenceMs: FENCE_MS })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  const [edgeA, edgeB] = cluster.edges()
  const [keeper] = cluster.of('keeper')
  const [workerA] = cluster.of('worker')
  const looks: { door: string; sentMs: number; seenMs: number }[] = []
  const watching = new AbortController()
  const watch = (async () => {
    while (!watching.signal.aborted) {
      const sentMs = systemClock.elapsed()
      const [line] = await stage.shop.audit(stage.sale.id).catch(() => [])
      if (line !== undefined) looks.push({ door: line.door, sentMs, seenMs: systemClock.elapsed() })
      await systemClock.sleep(20, watching.signal)
    }
  })()

  const buying = meanwhile(stage.everybodyBuys())
  await within('a tenth of it sold', SOON_MS, stage.shop.placed(UNITS / 10))
  await until('a look at the door before anything is cut', () => looks.length > 0, SOON_MS)
  for (const member of [edgeA, keeper, workerA]) member?.redisRoad?.cut()
  expect(edgeB?.redisRoad).toBeDefined()
  await until('a door that is the ledger', () => looks.some(({ door }) => door === 'ledger'), SOON_MS)
  await within('half of it sold', SOON_MS, stage.shop.placed(UNITS / 2))
  for (const member of [edgeA, keeper, workerA]) member?.redisRoad?.mend()
  const outcomes = await within('everybody has an answer', 120_000, buying)
  await until('a door that is the gate again', () => looks.at(-1)?.door === 'gate', SOON_MS)
  watching.abort()
  await watch
  const doors = looks.filter(({ door }, i) => door !== looks[i - 1]?.door)
  console.log(
    `  doors: ${doors.map(({ door, seenMs }) => `${door} ${Math.round(seenMs - doors[0]!.seenMs)} ms`).join(', ')}`,
  )

  // However late the looks came: when the last one that did not show "draining" was sent it was not draining yet, and when the first one
  // that showed "ledger" was answered it was the ledger.
  const ledger = looks.findIndex(({ door }) => door === 'ledger')
  const open = looks.slice(0, ledger).findLast(({ door }) => door !== 'draining')
  const betweenMs = looks[ledger]!.seenMs - open!.sentMs
  console.log(`  at most ${Math.round(betweenMs)} ms from draining to the ledger`)
  expect(betweenMs, 'the fence was waited for').toBeGreaterThanOrEqual(FENCE_MS)
  await stage.judge(outcomes)
}, 300_000)
