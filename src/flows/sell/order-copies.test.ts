import { expect, test } from 'bun:test'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import type { Orders } from '../../ledger/orders.ts'
import { createAcknowledgedReservations } from '../follow/acknowledged-reservations.ts'
import { NOTHING_UNPLACED } from '../follow/unplaced-reservations.ts'
import { findOrder } from './find-orders.ts'
import { OrderCopies } from './order-copies.ts'

const WINNERS = 400

const ledger = ledgerForFile()

/** An edge with copies before the ledger, a clock that the test moves, and a count of the statements. */
function openEdge() {
  const edge = {
    lateMs: 0,
    statements: 0,
    answered: 0,
    /** What a read waits for after the ledger has answered it. */
    held: undefined as Promise<void> | undefined,
    copies: undefined as unknown as OrderCopies,
    async kind(id: string, buyer: string): Promise<string> {
      const outcome = await findOrder(context, id, buyer)
      return outcome.kind === 'found' ? outcome.order.state : outcome.kind
    },
  }
  const clock = { ...systemClock, elapsed: () => systemClock.elapsed() + edge.lateMs }
  const orders: Pick<Orders, 'find' | 'ofBuyer'> = {
    ...ledger.orders,
    async find(ids) {
      edge.statements += 1
      const found = await ledger.orders.find(ids)
      edge.answered += 1
      await edge.held
      return found
    },
  }
  const copies = new OrderCopies({ orders, clock })
  edge.copies = copies
  const context = {
    orders: { ...orders, find: (ids: readonly string[]) => copies.find(ids) },
    registry: new Map(),
    acknowledged: createAcknowledgedReservations(0),
    unplaced: NOTHING_UNPLACED,
    clock,
  }
  return edge
}

async function placeFor(buyers: readonly string[]) {
  const { item, epoch } = await ledger.openItem({ units: buyers.length })
  const asks = buyers.map(buyer => ledger.ask(buyer))
  await ledger.orders.place(item, epoch, false, asks)
  return { item, ids: asks.map(ask => ask.order) }
}

test('400 winners who poll cost a few statements, and none while the copies are fresh', async () => {
  const buyers = Array.from({ length: WINNERS }, (_, i) => `buyer-${i}`)
  const { ids } = await placeFor(buyers)
  const edge = openEdge()
  const poll = async () => new Set(await Promise.all(ids.map((id, i) => edge.kind(id, buyers[i]!))))
  expect(await poll()).toEqual(new Set(['pending']))
  expect(edge.statements).toBeLessThanOrEqual(3)
  const before = edge.statements
  expect(await poll()).toEqual(new Set(['pending']))
  expect(edge.statements).toBe(before)
})

test("another buyer's order is not there, from a copy as from the ledger; what does not exist is never remembered", async () => {
  const { ids } = await placeFor(['ann'])
  const edge = openEdge()
  expect(await edge.kind(ids[0]!, 'ann')).toBe('pending')
  expect(await edge.kind(ids[0]!, 'ben')).toBe('missing')
  const { item, epoch } = await ledger.openItem()
  const ask = ledger.ask('cy')
  expect(await edge.kind(ask.order, 'cy')).toBe('missing')
  await ledger.orders.place(item, epoch, false, [ask])
  expect(await edge.kind(ask.order, 'cy')).toBe('pending')
})

test('a change made here is seen by the next read, one made elsewhere with its message or within a second', async () => {
  const { item, ids } = await placeFor(['ann', 'ben', 'cy'])
  const [ann, ben, cy] = ids as [string, string, string]
  const edge = openEdge()
  const kinds = () => Promise.all([edge.kind(ann, 'ann'), edge.kind(ben, 'ben'), edge.kind(cy, 'cy')])
  expect(await kinds()).toEqual(['pending', 'pending', 'pending'])
  const closed = await ledger.closings.close(item, ids, 'cancelled')
  const rowOf = (id: string) => closed.find(order => order.id === id)!
  edge.copies.orderChanged(rowOf(ann))
  edge.copies.forget(ben)
  expect(await kinds()).toEqual(['closed', 'closed', 'pending'])
  // The cancel that came second reads the ledger, and by that brings the copy up to date.
  await edge.copies.readThrough(ledger.orders).find([cy])
  expect(await edge.kind(cy, 'cy')).toBe('closed')
})

test('a copy is never older than a second, counted from before the ledger was asked', async () => {
  const { item, ids } = await placeFor(['ann'])
  const edge = openEdge()
  expect(await edge.kind(ids[0]!, 'ann')).toBe('pending')
  await ledger.closings.close(item, ids, 'cancelled')
  edge.lateMs += 1_000
  expect(await edge.kind(ids[0]!, 'ann')).toBe('closed')
})

test('a read that was under way while the order changed leaves no copy behind', async () => {
  const { item, ids } = await placeFor(['ann'])
  const edge = openEdge()
  const held = Promise.withResolvers<void>()
  edge.held = held.promise
  const slow = edge.kind(ids[0]!, 'ann')
  await until('the ledger to have answered', () => edge.answered > 0)
  const [closed] = await ledger.closings.close(item, ids, 'cancelled')
  edge.copies.orderChanged(closed!)
  held.resolve()
  edge.held = undefined
  expect(await slow).toBe('pending')
  expect(await edge.kind(ids[0]!, 'ann')).toBe('closed')
})

test('an older row that arrives late does not undo a newer one', async () => {
  const { item, ids } = await placeFor(['ann'])
  const edge = openEdge()
  const [placed] = await ledger.orders.find(ids)
  await ledger.closings.close(item, ids, 'cancelled')
  expect(await edge.kind(ids[0]!, 'ann')).toBe('closed')
  edge.copies.orderChanged(placed!)
  expect(await edge.kind(ids[0]!, 'ann')).toBe('closed')
})
