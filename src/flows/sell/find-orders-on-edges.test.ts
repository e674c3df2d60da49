import { expect, test } from 'bun:test'
import { openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createFaultyGate } from '../../gate/contract/faulty-gate.ts'
import { findOrder } from './find-orders.ts'
import { takeOrder } from './take-order.ts'

const ledger = ledgerForFile()

/** Ann was told "reserved" at one edge; no worker has placed it yet. */
async function reservedByAnn() {
  const cluster = openCluster(ledger)
  const { item } = await cluster.openItem()
  const edge = cluster.edge()
  await edge.round()
  const told = await takeOrder(edge.context, edge.liveItem(item), { buyer: 'ann', attempt: 1, quantity: 1 })
  if (told.kind !== 'reserved') throw new Error(told.kind)
  return { cluster, item, told: told.reservation }
}

test('an edge that has not read the ledger yet denies no order: it may be held by a gate that it does not follow', async () => {
  const { cluster, told } = await reservedByAnn()
  const starting = cluster.edge()
  expect((await findOrder(starting.find, told.id, 'ann')).kind).toBe('busy')
  await starting.round()
  expect((await findOrder(starting.find, told.id, 'ann')).kind).toBe('found')
})

test('a reservation that was read under one epoch is not acknowledged under the next (E4, E6)', async () => {
  const { cluster, item, told } = await reservedByAnn()
  const other = cluster.edge({
    gate: real => ({
      ...createFaultyGate(real, () => undefined),
      async find(...call) {
        const found = await cluster.gate.find(...call)
        await cluster.activate(item, await cluster.raiseEpoch(item))
        await other.round()
        return found
      },
    }),
  })
  await other.round()
  expect((await findOrder(other.find, told.id, 'ann')).kind).toBe('busy')
  expect(other.acknowledged.size()).toBe(0)
})
