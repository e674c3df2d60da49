import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { EventReader } from '../harness/event-reader.ts'
import { Playground } from '../harness/playground.ts'
import { until, within } from '../harness/until.ts'
import { Stage } from './stage.ts'

const UNITS = 200
const BUYERS = 220
const SOON_MS = 120_000
const READ_EVERY_MS = 50

setDefaultTimeout(300_000)

const playground = new Playground()
afterEach(() => playground.undo())

test('keepers that die, sleep and wake give every event one number: a cursor that follows them misses none', async () => {
  const cluster = await Cluster.start(playground, {
    edges: 2,
    workers: 2,
    keepers: 2,
    faultPoints: { keeper: 'events.numbered=kill@25' },
  })
  const stage = await Stage.set(cluster, { units: UNITS, buyers: BUYERS })
  // One for each edge: each must show the same.
  const readers = cluster.edges().map(edge => new EventReader(() => edge.server().url()))
  const following = new AbortController()
  const reading = meanwhile(
    Promise.all(
      readers.map(async reader => {
        while (!following.signal.aborted) {
          await reader.catchUp(7)
          await systemClock.sleep(READ_EVERY_MS)
        }
      }),
    ),
  )
  const keepers = cluster.of('keeper')
  const buying = meanwhile(stage.everybodyBuys())
  const [dead] = await within(
    'the death of the acting keeper',
    SOON_MS,
    Promise.race(keepers.map(async keeper => [keeper, await keeper.server().exited] as const)),
  )
  await dead.startAgain()
  // The one that acts now falls asleep in mid-work; when it wakes, the other one may act already.
  const acting = keepers.find(keeper => keeper !== dead)!
  if (acting.running()) {
    acting.freeze()
    playground.onUndo(() => acting.running() && acting.wake())
    const before = readers[0]!.events.length
    await until('others give numbers', () => readers[0]!.events.length > before || stage.shop.placedSoFar() >= UNITS)
    acting.wake()
  }
  await stage.judge(await within('everybody has an answer', SOON_MS, buying))
  for (const keeper of keepers) if (!keeper.running()) await keeper.startAgain()
  const orders = (await stage.shop.orders(stage.sale.id)).flatMap(order =>
    order.reason === 'refused' ? [] : [`order.placed ${order.id}`],
  )
  const placedOf = (reader: EventReader) => reader.told().filter(line => line.startsWith('order.placed '))
  await until('all orders are told at both edges', () =>
    readers.every(reader => placedOf(reader).length >= orders.length),
  )
  following.abort()
  await reading
  for (const reader of readers) {
    await reader.catchUp()
    expect(placedOf(reader).toSorted()).toEqual(orders.toSorted())
    expect(reader.told().filter(line => line.startsWith('item.'))).toEqual([`item.sold_out ${stage.item}`])
    expect(reader.told().filter(line => line.startsWith('sale.'))).toEqual([`sale.opened ${stage.sale.id}`])
  }
  expect(readers[0]!.events).toEqual(readers[1]!.events)
})
