import { expect, test } from 'bun:test'
import { openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { createFaultyGate } from '../../gate/contract/faulty-gate.ts'
import type { GateStatus } from '../../gate/gate.ts'
import { takeOrder } from '../sell/take-order.ts'

const ledger = ledgerForFile()
const click = (buyer: string) => ({ buyer, attempt: 1, quantity: 1 })

/** An edge with a real item among so many others on sale where nothing happens. It counts the statuses it asks for. */
async function amongIdle(count: number, hasClicks = true) {
  const cluster = openCluster(ledger)
  const { item, epoch, sale } = await cluster.openItem({ units: 1 })
  const names = Array.from({ length: count }, (_, i) => String(1_000_000 + i))
  const idle = new Set(names)
  const asked: string[] = []
  const edge = cluster.edge({
    hasClicks,
    sales: real => ({
      async followed() {
        const read = await real.followed()
        const sales = read.sales.map(one => {
          const like = one.items.find(({ id }) => id === item)
          return like === undefined ? one : { ...one, items: [...one.items, ...names.map(id => ({ ...like, id }))] }
        })
        return { ...read, sales }
      },
    }),
    gate: real => ({
      ...createFaultyGate(real, () => undefined),
      async status(items) {
        asked.push(...items)
        const reply = await real.status([item])
        const like = reply.items[0]
        const shown = items.flatMap((id): GateStatus[] =>
          idle.has(id) && like !== undefined ? [{ ...like, item: id }] : id === item ? [...reply.items] : [],
        )
        return { ...reply, items: shown }
      },
    }),
  })
  await until('every item was shown once', async () => {
    await edge.round()
    return [...names, item].every(id => edge.liveItem(id).activeAtMs > 0)
  })
  return { cluster, edge, item, epoch, sale, asked, names }
}

/** So that each of the few that are asked for in turn had its turn and the item is as idle as the others. */
async function goCold({ cluster, edge, asked, item }: Awaited<ReturnType<typeof amongIdle>>) {
  await until('it is left alone, and what is known of it is too old to refuse by', async () => {
    cluster.clock.jump(2_000)
    asked.length = 0
    await edge.round()
    return !asked.includes(item) && edge.liveItem(item).seller.left() === undefined
  })
  asked.length = 0
}

async function costOfTenRounds(count: number): Promise<number> {
  const { edge, asked } = await amongIdle(count)
  asked.length = 0
  for (let i = 0; i < 10; i++) await edge.round()
  return asked.length
}

test('what a round asks the gate does not grow with items where nothing happens', async () => {
  expect(await costOfTenRounds(1_000)).toBeLessThanOrEqual(80)
  expect(await costOfTenRounds(100)).toBeLessThanOrEqual(80)
})

test('a worker or a keeper, where no clicks come, asks for each status once', async () => {
  const { edge, item, epoch, asked } = await amongIdle(100, false)
  asked.length = 0
  // Told of by a message: an edge would ask.
  edge.cache.reserved(item, { epoch, version: 2, left: 0 }, ['ann'])
  for (let i = 0; i < 20; i++) await edge.round()
  expect(asked).toEqual([])
})

test('the first click on an item that was idle for long is sold to, not refused; from then on its status is asked for', async () => {
  const stage = await amongIdle(300)
  const { edge, item, asked } = stage
  await goCold(stage)
  const live = edge.liveItem(item)
  expect(live.seller.left()).toBeUndefined()
  expect(live.seller.left(true)).toBe(1)
  expect(asked).toEqual([])
  expect(live.seller.standing()).toBeUndefined()
  expect((await takeOrder(edge.context, live, click('ann'))).kind).toBe('reserved')
  await until('it was asked for at once', () => asked.includes(item))
  await until('sold out is known without asking', () => live.seller.standing()?.kind === 'sold_out')
  asked.length = 0
  await edge.round()
  expect(asked).toContain(item)
})

test('a click on an idle item has that one asked for, however many others are clicked on', async () => {
  const stage = await amongIdle(300)
  const { edge, item, asked, names } = stage
  await goCold(stage)
  const others = names.filter(id => id !== item && edge.liveItem(id).seller.left() === undefined).slice(0, 50)
  expect(others).toHaveLength(50)
  for (const id of others) edge.liveItem(id).seller.standing()
  await until('they were asked for', () => asked.length > 0)
  expect(asked.toSorted()).toEqual(others.toSorted())
  asked.length = 0
  edge.liveItem(item).seller.standing()
  await until('it was asked for', () => asked.length > 0)
  expect(asked).toEqual([item])
  await edge.round()
  expect(asked).toEqual(expect.arrayContaining(others))
})

test('units that come back to an idle item are sold at the first click, and a "sold out" from before is not repeated', async () => {
  const stage = await amongIdle(300)
  const { cluster, edge, item, epoch } = stage
  const live = edge.liveItem(item)
  expect((await takeOrder(edge.context, live, click('ann'))).kind).toBe('reserved')
  await edge.round()
  expect(live.seller.standing()?.kind).toBe('sold_out')
  await goCold(stage)
  const [holding] = await cluster.gate.find(item, 'ann').then(found => ('holdings' in found ? found.holdings : []))
  await cluster.gate.release(item, epoch, [{ order: holding!.order, buyer: 'ann', attempt: 1, outcome: 'closed' }])
  expect(live.seller.standing()).toBeUndefined()
  expect((await takeOrder(edge.context, live, click('ben'))).kind).toBe('reserved')
})
