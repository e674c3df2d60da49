import { describe, expect, test } from 'bun:test'
import { openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { Fault } from '../../base/fault.ts'
import { takeOrder } from './take-order.ts'

const ledger = ledgerForFile()

const away = () => Promise.reject(new Fault('ledger_away', 'nobody answers', { retryable: true }))
const click = (buyer: string) => ({ buyer, attempt: 1, quantity: 1 })
const rowsOf = (item: string) =>
  ledger.sql('SELECT id, buyer, state, reason, epoch FROM orders WHERE item = $1 ORDER BY id', [item])

describe("behind the ledger's door", () => {
  async function ledgerDoor(units: number) {
    const cluster = openCluster(ledger)
    const { item, sale } = await cluster.openItem({ units })
    const epoch = await cluster.raiseEpoch(item)
    await ledger.rights.setDoor(item, epoch, 'ledger')
    const edge = cluster.edge()
    await edge.round()
    return { cluster, item, sale, epoch, edge }
  }

  test('placed at once, the same again for the same buyer, sold out at the end, and never more than there are', async () => {
    const { item, sale, edge } = await ledgerDoor(3)
    const liveItem = edge.liveItem(item)
    const outcomes = await Promise.all(
      ['a', 'b', 'c', 'd', 'a'].map(buyer => takeOrder(edge.context, liveItem, click(buyer))),
    )
    expect(outcomes.map(one => one.kind)).toEqual(['placed', 'placed', 'placed', 'sold_out', 'same'])
    expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 3 })
    expect(liveItem.seller.standing()?.kind).toBe('sold_out')
    expect(edge.told.length).toBe(3)
  })

  test('a door that was turned meanwhile is busy, and nothing is written', async () => {
    const { cluster, item, edge } = await ledgerDoor(3)
    await cluster.raiseEpoch(item)
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('busy')
    expect(edge.liveItem(item).current).toBe(false)
    expect(await rowsOf(item)).toEqual([])
  })

  test('a ledger that does not answer is busy; asking again finds what it committed', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    await ledger.rights.setDoor(item, await cluster.raiseEpoch(item), 'ledger')
    const trouble = { on: true }
    const edge = cluster.edge({
      orders: real => ({
        ...real,
        async placeDirectly(...call) {
          const reply = await real.placeDirectly(...call)
          return trouble.on ? away() : reply
        },
      }),
    })
    await edge.round()
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('busy')
    trouble.on = false
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('same')
    expect(await rowsOf(item)).toHaveLength(1)
  })
})
