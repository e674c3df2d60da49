import { afterEach, describe, expect, test } from 'bun:test'
import { type EdgeWish, FENCE_MS, openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { armFaultPoints } from '../../base/fault-points.ts'
import { findOrder, ordersOfBuyer } from './find-orders.ts'
import { repeatOrder } from './repeat-order.ts'
import { takeOrder } from './take-order.ts'

const ledger = ledgerForFile()
afterEach(() => armFaultPoints(''))

async function openEdge(wish: EdgeWish = {}) {
  const cluster = openCluster(ledger)
  const { item, epoch } = await cluster.openItem()
  const edge = cluster.edge(wish)
  await edge.round()
  const take = (attempt = 1) => takeOrder(edge.context, edge.liveItem(item), { buyer: 'ann', attempt, quantity: 1 })
  /** What ann hears of this order, whichever way she asks. */
  const heard = async (id: string) => ({
    again: (await repeatOrder(edge.context, edge.liveItem(item), item, 'ann', 1))?.kind,
    byId: (await findOrder(edge.find, id, 'ann')).kind,
    listed: (await ordersOfBuyer(edge.find, 'ann', undefined, 100)).some(one => one.id === id),
  })
  return { cluster, item, epoch, edge, take, heard }
}

const NOTHING_YET = { again: 'busy', byId: 'busy', listed: false } as const

describe('E2: every yes goes through the fence', () => {
  test('an edge that slept past its fence does not say its first yes from memory', async () => {
    const { cluster, item, edge, take, heard } = await openEdge({ placedWaitMs: 300 })
    const asked = take()
    await until('ann has it', () => edge.acknowledged.size() === 1)
    const { id } = edge.acknowledged.ofBuyer('ann')[0]!
    cluster.clock.jump(FENCE_MS + 1)
    expect((await asked).kind).toBe('busy')
    // The item is rebuilt without it: its gate does not answer under the old epoch, and memory is all this edge has.
    const next = await cluster.raiseEpoch(item)
    expect(await heard(id)).toEqual(NOTHING_YET)
    await cluster.activate(item, next)
    await until('it is handed over', async () => {
      await edge.round()
      return edge.acknowledged.size() === 0
    })
    expect(await findOrder(edge.find, id, 'ann')).toMatchObject({ order: { state: 'closed', reason: 'refused' } })
  })

  test('what was acknowledged under an older epoch is not told under the next, before the ledger has decided on it', async () => {
    const decided = Promise.withResolvers<void>()
    const { cluster, item, edge, take, heard } = await openEdge({
      orders: real => ({ ...real, place: (...call) => decided.promise.then(() => real.place(...call)) }),
    })
    expect((await take()).kind).toBe('reserved')
    const { id } = edge.acknowledged.ofBuyer('ann')[0]!
    expect(await heard(id)).toEqual({ again: 'same_reserved', byId: 'found', listed: true })
    const next = await cluster.raiseEpoch(item)
    await edge.round()
    expect(await heard(id)).toEqual(NOTHING_YET)
    await cluster.activate(item, next)
    await edge.round()
    expect(edge.liveItem(item)).toMatchObject({ epoch: next, door: 'gate', current: true })
    expect(edge.acknowledged.size()).toBe(1)
    const { byId, listed } = await heard(id)
    expect({ byId, listed }).toEqual({ byId: 'busy', listed: false })
    decided.resolve()
  })

  test('a 202 is held back also when the process stood still between its decision and its answer', async () => {
    const { cluster, edge, take } = await openEdge()
    armFaultPoints('answer.before=delay:1000')
    const asked = take()
    await until('ann has it', () => edge.acknowledged.size() === 1)
    cluster.clock.jump(FENCE_MS + 1)
    expect((await asked).kind).toBe('busy')
    armFaultPoints('')
    expect(edge.reservedTold).toEqual([])
    await edge.round()
    expect((await take()).kind).toBe('same_reserved')
  })
})
