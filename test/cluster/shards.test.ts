import { afterEach, describe, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'
import { buyersOf, shardLedger } from './shard-ledger.ts'
import { Stage } from './stage.ts'

const SHARDS = 4
const UNITS = 160
const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

const ofShard = (shard: number, count: number) => buyersOf(shard, SHARDS, count)

async function onStage(cluster: Cluster, names: readonly string[]) {
  const ledger = shardLedger(cluster)
  const stage = await Stage.set(cluster, { units: UNITS, buyers: names.length, names, shards: SHARDS })
  expect(await ledger.shards(), 'shards at the opening').toBe(SHARDS)
  return { ledger, stage }
}

test('units of other shards are moved to the buyers who ask, the last ones too; no buyer gets two', async () => {
  const cluster = await Cluster.start(playground, { edges: 3, workers: 2, keepers: 1 })
  const { ledger, stage } = await onStage(cluster, ofShard(2, UNITS + 20))
  const outcomes = await within('everybody has an answer', SOON_MS, stage.everybodyBuys())
  expect(outcomes.filter(told => 'order' in told.answer)).toHaveLength(UNITS)
  await stage.judge(outcomes)
  // The last units are sold as soon as they are given; that the move is over is written down after that.
  await until('no move is open', async () => (await ledger.open()) === 0, SOON_MS)
  const moves = await ledger.moves()
  console.log(`  ${moves.length} moves: ${moves.map(({ taken }) => taken).join(', ')}; then in one shard`)
  expect(moves.length).toBeGreaterThanOrEqual(1)
  expect(moves.filter(({ state }) => state !== 'done' && state !== 'void')).toEqual([])
  await until('too few units for so many shards: one shard', async () => (await ledger.shards()) === 1, SOON_MS)
}, 300_000)

describe('the keeper dies in the middle of a move; the next one finishes it, and every unit is sold once:', () => {
  for (const point of ['move.asked', 'move.taken', 'move.journalled', 'move.given', 'move.done']) {
    test(`at ${point}`, async () => {
      const cluster = await Cluster.start(playground, {
        edges: 2,
        workers: 1,
        keepers: 2,
        faultPoints: { keeper: `${point}=kill` },
      })
      const { ledger, stage } = await onStage(cluster, ofShard(1, UNITS + 10))
      const keepers = cluster.of('keeper')
      // As a service manager does it. The second may die in the same place, with what the first left to it.
      const deaths = keepers.map(async keeper => {
        const exit = await keeper.server().exited
        return { keeper, exit }
      })
      let watching = true
      // From then on they are ended by the playground, and stay ended.
      playground.onUndo(() => {
        watching = false
      })
      for (const death of deaths)
        void death.then(({ keeper }) => (watching ? keeper.startAgain() : undefined)).catch(() => {})
      const buying = meanwhile(stage.everybodyBuys())
      const { exit } = await within('the death of the acting keeper', SOON_MS, Promise.race(deaths))
      expect(exit).toEqual({ code: null, signal: 'SIGKILL' })
      await stage.judge(await within('everybody has an answer', SOON_MS, buying))
      await until('no move is open', async () => (await ledger.open()) === 0, SOON_MS)
      expect((await ledger.moves())[0], 'the move it died in').toMatchObject({ no: 1, state: 'done' })
      for (const keeper of keepers) await until('every keeper runs again', () => keeper.running(), SOON_MS)
    }, 300_000)
  }
})

test('Redis dies in the middle of a move: the move is void, the next gate has every unit, and all are sold', async () => {
  const cluster = await Cluster.start(playground, {
    edges: 2,
    workers: 1,
    keepers: 1,
    // Long enough for a slow machine to notice and to kill.
    faultPoints: { keeper: 'move.journalled=delay:10000' },
  })
  const { ledger, stage } = await onStage(cluster, ofShard(3, UNITS + 10))
  const buying = meanwhile(stage.everybodyBuys())
  const between = async () => (await ledger.moves()).some(({ state }) => state === 'taken')
  await until('units between two shards', between, SOON_MS)
  await cluster.redis.kill()
  await cluster.redis.start()
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
  await until('no move is open', async () => (await ledger.open()) === 0, SOON_MS)
  expect((await ledger.moves())[0]).toMatchObject({ state: 'void' })
}, 300_000)

/** Just enough for all shards; after a few more orders they collapse to one. */
const FEW_UNITS = 8 * SHARDS + 4
/** More than collapsing takes on any machine, less than the lease. */
const OFF_SALE_MS_MAX = 60_000

test('an edge dies while few units are left in several shards: the others go on selling, and no buyer waits for its lease to lapse', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: FEW_UNITS, buyers: FEW_UNITS, atATime: 1, shards: SHARDS })
  const [first, dying] = cluster.edges()
  await dying!.kill()
  // However slow the machine, whoever waited for this lease would be seen to.
  await cluster.sql("UPDATE nodes SET lease_until = now() + interval '1 hour' WHERE kind = 'holding'")
  cluster.behind(first!.server().url())
  let longestMs = 0
  const outcomes = []
  for (const ticket of stage.tickets) {
    const askedMs = systemClock.elapsed()
    outcomes.push(await within('an answer', 120_000, stage.persist(ticket)))
    longestMs = Math.max(longestMs, systemClock.elapsed() - askedMs)
  }
  console.log(`  the longest anybody waited: ${Math.round(longestMs)} ms`)
  expect(outcomes.filter(told => 'order' in told.answer)).toHaveLength(FEW_UNITS)
  expect(longestMs).toBeLessThan(OFF_SALE_MS_MAX)
  await until('all is placed', async () => (await stage.shop.audit(stage.sale.id))[0]?.available === 0)
}, 300_000)
