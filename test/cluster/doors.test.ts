import { afterEach, expect, test } from 'bun:test'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 150
const BUYERS = 180
const SOON_MS = 120_000

const playground = new Playground()
afterEach(() => playground.undo())

async function untilDoor(stage: Stage, door: string): Promise<void> {
  await until(
    `the door is "${door}"`,
    async () => {
      const [line] = await stage.shop.audit(stage.sale.id).catch(() => [])
      return line?.door === door
    },
    SOON_MS,
  )
}

test('an item that lives behind the ledger’s door is sold by several edges, with no Redis in sight', async () => {
  const cluster = await Cluster.start(playground, { edges: 3, workers: 1, keepers: 1 })
  await cluster.redis.kill()
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, quantityMax: 2, door: 'ledger' })
  await stage.judge(await within('everybody has an answer', SOON_MS, stage.everybodyBuys()))
  expect((await stage.shop.audit(stage.sale.id)).map(line => line.door)).toEqual(['ledger'])
}, 300_000)

test('Redis dies: the ledger sells on after the fence; Redis is back: the gate sells, and every word was kept', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, atATime: 4 })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  await cluster.redis.kill()
  await untilDoor(stage, 'ledger')
  await within('half of it sold', SOON_MS, stage.shop.placed(UNITS / 2))
  await cluster.redis.start()
  await untilDoor(stage, 'gate')
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)

test('an item that rather waits than be sold by the ledger is shut while Redis is away', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, whenGateDown: 'shut' })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  await cluster.redis.kill()
  await untilDoor(stage, 'shut')
  const before = stage.shop.placedSoFar()
  await cluster.redis.start()
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
  expect(before).toBeLessThan(UNITS)
}, 300_000)

test('Redis and an edge die together: the item is shut, an operator decides, and Redis takes over again when it is back', async () => {
  const cluster = await Cluster.start(playground, { edges: 2, workers: 1, keepers: 1 })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS, atATime: 4 })
  const buying = meanwhile(stage.everybodyBuys())
  await within('a quarter of it sold', SOON_MS, stage.shop.placed(UNITS / 4))
  const [edge] = cluster.edges()
  await Promise.all([cluster.redis.kill(), edge?.kill()])
  // The edge's lease has to lapse first: nobody knows what it acknowledged last.
  await untilDoor(stage, 'shut')
  await stage.shop.openLedgerDoor(stage.sale.id, stage.item)
  await untilDoor(stage, 'ledger')
  await within('half of it sold', SOON_MS, stage.shop.placed(UNITS / 2))
  await cluster.redis.start()
  await untilDoor(stage, 'gate')
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
}, 300_000)
