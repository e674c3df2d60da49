import { expect, test } from 'bun:test'
import { FENCE_MS, openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { systemClock } from '../../base/clock.ts'
import { findOrder } from './find-orders.ts'
import { giveTicket } from './give-ticket.ts'
import { takeOrder } from './take-order.ts'

const ledger = ledgerForFile()

async function openEdge() {
  const cluster = openCluster(ledger)
  const { sale, item, epoch } = await cluster.openItem()
  const edge = cluster.edge()
  await edge.round()
  return {
    cluster,
    sale,
    item,
    epoch,
    edge,
    take: (attempt: number) => takeOrder(edge.context, edge.liveItem(item), { buyer: 'ann', attempt, quantity: 1 }),
    async ticket() {
      const found = (await ledger.sales.find(sale))!
      const given = await giveTicket(edge.context, found, edge.liveItem(item), 'ann', systemClock.now())
      return given.kind === 'given' ? given.terms.attempt : given.kind
    },
  }
}

test('a ticket carries the next attempt as soon as the ledger shows the order closed, before the gate learns of it', async () => {
  const { cluster, item, epoch, edge, take, ticket } = await openEdge()
  await take(1)
  expect(await ticket()).toBe(1)
  const [placed] = await cluster.work(item, epoch)
  expect(await ticket()).toBe(1)
  await ledger.closings.close(item, [placed!.id], 'cancelled')
  expect(await findOrder(edge.find, placed!.id, 'ann')).toMatchObject({ order: { state: 'closed' } })
  expect(await ticket()).toBe(2)
  // Nor is that attempt answered with the closed order of the first: its turn comes when the gate has the units back.
  expect((await take(2)).kind).toBe('busy')
  expect(await take(1)).toMatchObject({ kind: 'same', order: { id: placed!.id, state: 'closed' } })
  await cluster.gate.release(item, epoch, [{ order: placed!.id, buyer: 'ann', attempt: 1, outcome: 'closed' }])
  expect(await ticket()).toBe(2)
  expect(await take(2)).toMatchObject({ kind: 'reserved', reservation: { attempt: 2 } })
})

test('after a refusal the same attempt is free again: a refused order is no attempt', async () => {
  const { cluster, item, epoch, take, ticket } = await openEdge()
  await ledger.sql('UPDATE items SET available = 0, units = 1 WHERE id = $1', [item])
  await take(1)
  expect(await cluster.work(item, epoch)).toMatchObject([{ state: 'closed', reason: 'refused' }])
  expect(await ticket()).toBe(1)
})

test('outside the fence no ticket names a reservation that is not in the ledger (E2)', async () => {
  const { cluster, item, epoch, edge, ticket } = await openEdge()
  await cluster.gate.reserve(item, epoch, [{ ...ledger.ask('ann'), askedAtMs: 0 }])
  cluster.clock.jump(FENCE_MS + 1)
  expect(await ticket()).toBe('busy')
  await edge.round()
  expect(await ticket()).toBe(1)
})

test('fewer attempts after an unpaid order are not counted against a buyer whose order was paid and refunded', async () => {
  const { cluster, item, epoch, edge, take, sale } = await openEdge()
  await take(1)
  const [placed] = await cluster.work(item, epoch)
  const release = (outcome: 'closed') =>
    cluster.gate.release(item, epoch, [{ order: placed!.id, buyer: 'ann', attempt: 1, outcome }])
  await ledger.closings.close(item, [placed!.id], 'cancelled')
  await release('closed')
  const found = { ...(await ledger.sales.find(sale))!, holds: { attemptsUnpaid: 1 } }
  const ticket = () => giveTicket(edge.context, found, edge.liveItem(item), 'ann', systemClock.now())
  expect(await ticket()).toEqual({ kind: 'hold_limit' })
  await ledger.sql("UPDATE orders SET reason = 'refunded', paid_at = closed_at WHERE id = $1", [placed!.id])
  expect(await ticket()).toMatchObject({ kind: 'given', terms: { attempt: 2 } })
})
