import { afterEach, describe, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'
import { buyersOf, placesLedger } from './places-ledger.ts'
import { Stage } from './stage.ts'

const SHARDS = 4
const UNITS = 160
const SOON_MS = 90_000

const playground = new Playground()
afterEach(() => playground.undo())

const ofShard = (shard: number, count: number) => buyersOf(shard, SHARDS, count)

async function onStage(cluster: Cluster, names: readonly string[]) {
  const ledger = await placesLedger(playground, cluster)
  const stage = await Stage.set(cluster, { units: UNITS, buyers: names.length, names, shards: SHARDS })
  expect(await ledger.places(), 'places at the opening').toBe(SHARDS)
  return { ledger, stage }
}

test('units that lie in other places are moved to those who ask, the last ones too; nobody gets two', async () => {
  const cluster = await Cluster.start(playground, { edges: 3, workers: 2, keepers: 1 })
  const { ledger, stage } = await onStage(cluster, ofShard(2, UNITS + 20))
  const outcomes = await within('everybody has an answer', SOON_MS, stage.everybodyBuys())
  expect(outcomes.filter(told => 'order' in told.answer)).toHaveLength(UNITS)
  await stage.judge(outcomes)
  // The last units are sold as soon as they are given; that the move is over is written down after that.
  await until('no move is open', async () => (await ledger.open()) === 0, SOON_MS)
  const moves = await ledger.moves()
  console.log(`  ${moves.length} moves: ${moves.map(({ taken }) => taken).join(', ')}; then in one place`)
  expect(moves.length).toBeGreaterThanOrEqual(1)
  expect(moves.filter(({ state }) => state !== 'done' && state !== 'void')).toEqual([])
  await until('too few for so many places: one', async () => (await ledger.places()) === 1, SOON_MS)
}, 240_000)

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
    }, 240_000)
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
  await until('units between two places', between, SOON_MS)
  await cluster.redis.kill()
  await cluster.redis.start()
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
  await until('no move is open', async () => (await ledger.open()) === 0, SOON_MS)
  expect((await ledger.moves())[0]).toMatchObject({ state: 'void' })
}, 240_000)
