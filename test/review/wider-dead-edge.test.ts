/** An edge that died is no reason to take an item off sale: others serve. */

import { afterEach, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Stage } from '../cluster/stage.ts'
import { Cluster } from '../harness/cluster.ts'
import { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'

const SHARDS = 4
/** Just enough for all places; after a few more orders they come together. */
const UNITS = 8 * SHARDS + 4
/** More than coming together takes, less than a lease. */
const OFF_SALE_MS_MAX = 5_000

const playground = new Playground()
afterEach(() => playground.undo())

test('an edge dies while few units are left in several places: the others go on selling, and nobody waits for its lease to lapse', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: UNITS, atATime: 1, shards: SHARDS })
  const [first, dying] = cluster.edges()
  await dying!.kill()
  cluster.behind(first!.server().url())
  let longestMs = 0
  const outcomes = []
  for (const ticket of stage.tickets) {
    const askedMs = systemClock.elapsed()
    outcomes.push(await within('an answer', 90_000, stage.persist(ticket)))
    longestMs = Math.max(longestMs, systemClock.elapsed() - askedMs)
  }
  console.log(`  the longest anybody waited: ${Math.round(longestMs)} ms`)
  expect(outcomes.filter(told => 'order' in told.answer)).toHaveLength(UNITS)
  expect(longestMs).toBeLessThan(OFF_SALE_MS_MAX)
  await until('all is placed', async () => (await stage.shop.audit(stage.sale.id))[0]?.available === 0, 60_000)
}, 240_000)
