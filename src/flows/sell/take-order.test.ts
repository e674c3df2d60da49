import { describe, expect, test } from 'bun:test'
import { type EdgeWish, FENCE_MS, openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import type { TestLedger } from '../../../test/harness/money-ledger.ts'
import { until } from '../../../test/harness/until.ts'
import { systemClock } from '../../base/clock.ts'
import { createFaultyGate, type GateMishap, type GateVerb } from '../../gate/contract/faulty-gate.ts'
import type { Gate } from '../../gate/gate.ts'
import { handOverAll } from '../follow/hand-over.ts'
import { windowStateOf } from '../keep/sync-state.ts'
import { findOrder, ordersOfBuyer } from './find-orders.ts'
import { giveTicket } from './give-ticket.ts'
import { repeatOrder } from './repeat-order.ts'
import { takeOrder } from './take-order.ts'

const ledger = ledgerForFile()

const click = (buyer: string, attempt = 1) => ({ buyer, attempt, quantity: 1 })

async function openEdge(wish: EdgeWish = {}, item: Parameters<TestLedger['openItem']>[0] = {}) {
  const cluster = openCluster(ledger)
  const liveItem = await cluster.openItem(item)
  const edge = cluster.edge(wish)
  await edge.round()
  return {
    cluster,
    ...liveItem,
    edge,
    take: (buyer: string, attempt = 1) => takeOrder(edge.context, edge.liveItem(liveItem.item), click(buyer, attempt)),
  }
}

/** Wraps the gate: what the test does in the middle of a call. */
function gateThat(change: Partial<Gate>): (real: Gate) => Gate {
  return real => ({ ...createFaultyGate(real, () => undefined), ...change })
}

describe('one click behind a gate elsewhere', () => {
  test('is placed when the worker says so in time, and reserved when it does not; both are one order', async () => {
    const { cluster, item, epoch, edge, take } = await openEdge({ placedWaitMs: 20_000 })
    const asked = take('ann')
    await until('ann has it', async () => (await cluster.work(item, epoch)).length === 1)
    expect(await asked).toMatchObject({ kind: 'placed', order: { buyer: 'ann', state: 'pending' } })
    expect(edge.acknowledged.size()).toBe(0)
    expect(edge.waiters.expected()).toBe(0)
    expect(edge.reservedTold).toEqual([])

    const hurried = cluster.edge({ placedWaitMs: 0 })
    await hurried.round()
    const outcome = await takeOrder(hurried.context, hurried.liveItem(item), click('bob'))
    expect(outcome).toMatchObject({ kind: 'reserved', reservation: { buyer: 'bob', attempt: 1, state: 'reserved' } })
    expect(hurried.acknowledged.size()).toBe(1)
    expect(hurried.waiters.expected()).toBe(0)
    expect(hurried.reservedTold).toMatchObject([{ buyer: 'bob' }])
    await cluster.work(item, epoch)
    expect(hurried.acknowledged.size()).toBe(0)
  })

  test('is not told "reserved" when the fence has lapsed while it waited to be placed (E2)', async () => {
    const { cluster, edge, take } = await openEdge({ placedWaitMs: 300 })
    const asked = take('ann')
    await until('ann has it', () => edge.acknowledged.size() === 1)
    cluster.clock.jump(FENCE_MS + 1)
    expect((await asked).kind).toBe('busy')
    expect(edge.reservedTold).toEqual([])
    // Asking again finds it, once the ledger has shown the epoch again.
    await edge.round()
    expect((await take('ann')).kind).toBe('same_reserved')
  })

  test("is placed even if the worker's message is faster than the gate's own reply", async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const edge = cluster.edge({
      placedWaitMs: 20_000,
      gate: gateThat({
        async reserve(...call) {
          const reply = await cluster.gate.reserve(...call)
          await cluster.work(item, epoch)
          return reply
        },
      }),
    })
    await edge.round()
    expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('placed')
  })

  test('a refusal that comes in time is sold out, and the order that stands when there is one', async () => {
    const { cluster, item, epoch, edge, take } = await openEdge({ placedWaitMs: 20_000 })
    // The ledger has a live order of bob's that the gate does not know.
    const [bob] = [ledger.ask('bob')]
    await ledger.orders.place(item, epoch, false, [bob])
    const asked = take('bob', 2)
    await until('bob was refused', async () => (await cluster.work(item, epoch)).length === 1)
    expect(await asked).toMatchObject({ kind: 'same', order: { id: bob.order } })

    await ledger.sql('UPDATE items SET available = 0, units = 1 WHERE id = $1', [item])
    const lost = take('cid')
    await until('cid was refused', async () => (await cluster.work(item, epoch)).length === 1)
    expect((await lost).kind).toBe('sold_out')
    expect(edge.acknowledged.size()).toBe(0)
  })

  test('unknown and busy are busy; asking again finds what was taken all the same', async () => {
    const mishap: { now: GateMishap | undefined } = { now: 'unknown_done' }
    const { item, edge, take } = await openEdge({
      gate: real => createFaultyGate(real, verb => (verb === 'reserve' ? mishap.now : undefined)),
    })
    expect((await take('ann')).kind).toBe('busy')
    expect(edge.acknowledged.size()).toBe(0)
    mishap.now = 'busy'
    expect((await take('bob')).kind).toBe('busy')
    mishap.now = undefined
    expect(await repeatOrder(edge.context, edge.liveItem(item), item, 'ann', 1)).toMatchObject({
      kind: 'same_reserved',
    })
    expect(edge.acknowledged.size()).toBe(1)
  })

  test('a gate that finds itself a moment before the opening is asked again under the same id', async () => {
    const ids = new Set<string>()
    let early = 2
    const { take } = await openEdge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        async reserve(item, epoch, asks) {
          for (const { order } of asks) ids.add(order)
          const reply = await real.reserve(item, epoch, early > 0 ? [] : asks)
          if (early-- <= 0 || reply.status !== 'ok') return reply
          return {
            ...reply,
            status: 'early',
            answers: asks.map(({ order }) => ({ code: 'not_now', order, quantity: 0, reservedAtMs: 0 })),
          }
        },
      }),
    })
    expect((await take('ann')).kind).toBe('reserved')
    expect(ids.size).toBe(1)
  })
})

describe('bounds', () => {
  test('where there is no room to remember an acknowledgement, the gate is not asked', async () => {
    const { cluster, item, edge, take } = await openEdge({ acknowledgedMax: 2 })
    expect((await take('a')).kind).toBe('reserved')
    expect((await take('b')).kind).toBe('reserved')
    expect((await take('c')).kind).toBe('busy')
    expect(await cluster.gate.find(item, 'c')).toMatchObject({ holdings: [] })
    expect(edge.acknowledged.size()).toBe(2)
  })

  test('room that was booked and not used is there again', async () => {
    const { take, edge } = await openEdge({ acknowledgedMax: 2 }, { units: 1 })
    expect((await take('a')).kind).toBe('reserved')
    await edge.round()
    for (let i = 0; i < 3; i++) expect((await take(`late${i}`)).kind).toBe('sold_out')
    expect(edge.acknowledged.book(1)).toBe(true)
  })
})

describe('asking again', () => {
  test('gives the order from the ledger once it is there, and the reservation before, on another edge too', async () => {
    const { cluster, item, epoch, take } = await openEdge()
    const other = cluster.edge()
    await other.round()
    const first = await take('ann')
    if (first.kind !== 'reserved') throw new Error(first.kind)
    const { id } = first.reservation
    const again = () => repeatOrder(other.context, other.liveItem(item), item, 'ann', 1)
    expect(await again()).toMatchObject({ kind: 'same_reserved', reservation: { id, attempt: 1, quantity: 1 } })
    expect(other.acknowledged.find(id)?.epoch).toBe(epoch)
    await cluster.work(item, epoch)
    expect(await again()).toMatchObject({ kind: 'same', order: { id, state: 'pending' } })
    expect(await repeatOrder(other.context, other.liveItem(item), item, 'stranger', 1)).toBeUndefined()
  })

  test('an order that was placed between the two looks is never shown as reserved', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    await cluster.gate.reserve(item, epoch, [{ ...ledger.ask('ann'), askedAtMs: 0 }])
    let finds = 0
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        async find(...call) {
          const found = await real.find(...call)
          finds += 1
          if (finds === 2) await cluster.work(item, epoch)
          return found
        },
      }),
    })
    await edge.round()
    expect(await repeatOrder(edge.context, edge.liveItem(item), item, 'ann', 1)).toMatchObject({ kind: 'same' })
    expect(finds).toBe(2)
  })

  test('outside the fence a reservation is not told again (E2)', async () => {
    const { cluster, item, epoch } = await openEdge()
    await cluster.gate.reserve(item, epoch, [{ ...ledger.ask('ann'), askedAtMs: 0 }])
    const edge = cluster.edge()
    await edge.round()
    cluster.clock.jump(FENCE_MS + 1)
    expect(await repeatOrder(edge.context, edge.liveItem(item), item, 'ann', 1)).toEqual({ kind: 'busy' })
    expect(edge.acknowledged.size()).toBe(0)
  })

  test('a fence that lapses while the reservation is looked up is in the way too (E2)', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const ask = { ...ledger.ask('ann'), askedAtMs: 0 }
    await cluster.gate.reserve(item, epoch, [ask])
    let finds = 0
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        async find(...call) {
          finds += 1
          if (finds === 2) cluster.clock.jump(FENCE_MS + 1)
          return real.find(...call)
        },
      }),
    })
    await edge.round()
    expect(await repeatOrder(edge.context, edge.liveItem(item), item, 'ann', 1)).toEqual({ kind: 'busy' })
    expect(finds).toBe(2)
    expect(await findOrder(edge.find, ask.order, 'ann')).toEqual({ kind: 'busy' })
    expect((await ordersOfBuyer(edge.find, 'ann', undefined, 100)).map(one => one.id)).not.toContain(ask.order)
    expect(edge.acknowledged.size()).toBe(0)
  })

  test('while the gate does not answer, nobody whom the ledger does not know is called a stranger', async () => {
    const mute: { verb: GateVerb | undefined } = { verb: undefined }
    const { item, edge } = await openEdge({
      gate: real => createFaultyGate(real, verb => (verb === mute.verb ? 'unknown' : undefined)),
    })
    mute.verb = 'find'
    expect(await repeatOrder(edge.context, edge.liveItem(item), item, 'ann', 1)).toEqual({ kind: 'busy' })
    // Not followed: a sale long over, of which nothing is left behind. The ledger alone decides.
    edge.registry.delete(item)
    expect(await repeatOrder(edge.context, undefined, item, 'ann', 1)).toBeUndefined()
  })

  test('nor is anybody told that it is over who may have been told "reserved"', async () => {
    const mute: { verb: GateVerb | undefined } = { verb: undefined }
    const { cluster, sale, item, epoch, edge, take } = await openEdge({
      placedWaitMs: 0,
      gate: real => createFaultyGate(real, verb => (verb === mute.verb ? 'unknown' : undefined)),
    })
    expect(await take('ann')).toMatchObject({ kind: 'reserved' })
    await ledger.sales.move(sale, ['ready'], 'over', 'olga', 'sale.end')
    await cluster.gate.set(item, epoch, windowStateOf((await ledger.sales.find(sale))!))
    mute.verb = 'find'
    const other = cluster.edge({
      gate: real => createFaultyGate(real, verb => (verb === 'find' ? 'unknown' : undefined)),
    })
    for (const one of [edge, other]) {
      await one.round()
      expect(one.liveItem(item).seller.standing()?.kind).toBe('over')
    }
    const repeated = (one: typeof edge) => repeatOrder(one.context, one.liveItem(item), item, 'ann', 1)
    expect(await repeated(edge)).toMatchObject({ kind: 'same_reserved', reservation: { buyer: 'ann' } })
    expect(await repeated(other)).toEqual({ kind: 'busy' })
  })
})

describe("a buyer's own orders", () => {
  test('a reservation is readable at once from any edge, and as the order it became afterwards', async () => {
    const { cluster, item, epoch, take } = await openEdge()
    const other = cluster.edge()
    await other.round()
    const first = await take('olga')
    if (first.kind !== 'reserved') throw new Error(first.kind)
    const { id } = first.reservation
    expect(await findOrder(other.find, id, 'olga')).toMatchObject({ kind: 'found', order: { id, state: 'reserved' } })
    expect(other.acknowledged.size()).toBe(1)
    expect(await findOrder(other.find, id, 'otto')).toEqual({ kind: 'missing' })
    expect(await ordersOfBuyer(other.find, 'olga', undefined, 10)).toMatchObject([{ id, state: 'reserved' }])
    await cluster.work(item, epoch)
    expect(await ordersOfBuyer(other.find, 'olga', undefined, 10)).toMatchObject([{ id, state: 'pending' }])
    expect(await findOrder(other.find, id, 'olga')).toMatchObject({ kind: 'found', order: { id, state: 'pending' } })
  })

  test('a gate that does not answer makes an unknown order busy, not missing; what this edge told itself is shown', async () => {
    const mute: { verb: GateVerb | undefined } = { verb: undefined }
    const { cluster, edge, take } = await openEdge({
      gate: real => createFaultyGate(real, verb => (verb === mute.verb ? 'unknown' : undefined)),
    })
    const other = await take('oscar')
    if (other.kind !== 'reserved') throw new Error(other.kind)
    mute.verb = 'find'
    expect(await findOrder(edge.find, '4711', 'oscar')).toEqual({ kind: 'busy' })
    expect(await findOrder(edge.find, '4711', 'nobody')).toEqual({ kind: 'missing' })
    expect((await findOrder(edge.find, other.reservation.id, 'oscar')).kind).toBe('found')
    expect(await ordersOfBuyer(edge.find, 'oscar', undefined, 10)).toHaveLength(1)
    cluster.wire.cut = true
  })

  test('what was placed between the look at the gate and the answer is shown as placed', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const ask = { ...ledger.ask('orla'), askedAtMs: 0 }
    await cluster.gate.reserve(item, epoch, [ask])
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        async find(...call) {
          const found = await real.find(...call)
          await cluster.work(item, epoch)
          return found
        },
      }),
    })
    await edge.round()
    expect(await findOrder(edge.find, ask.order, 'orla')).toMatchObject({ order: { state: 'pending' } })
    expect(await ordersOfBuyer(edge.find, 'orla', undefined, 10)).toMatchObject([{ id: ask.order, state: 'pending' }])
    expect(edge.acknowledged.size()).toBe(0)
  })

  test('pages stay in order and within their limit with a reservation among them', async () => {
    const { item, epoch, edge, take } = await openEdge()
    const old = ledger.ask('olive')
    await ledger.orders.place(item, epoch, false, [old])
    await ledger.closings.close(item, [old.order], 'cancelled')
    const reserved = await take('olive', 2)
    if (reserved.kind !== 'reserved') throw new Error(reserved.kind)
    const { id } = reserved.reservation
    expect((await ordersOfBuyer(edge.find, 'olive', undefined, 1)).map(one => one.id)).toEqual([id])
    expect((await ordersOfBuyer(edge.find, 'olive', id, 5)).map(one => one.id)).toEqual([old.order])
  })
})

test("behind the ledger's door a ticket carries the attempt that the ledger's rows call for", async () => {
  const { cluster, item, sale, edge } = await openEdge()
  const epoch = await cluster.raiseEpoch(item)
  await ledger.rights.setDoor(item, epoch, 'ledger')
  await edge.round()
  const give = async () =>
    giveTicket(edge.context, (await ledger.sales.find(sale))!, edge.liveItem(item), 'ann', systemClock.now())
  expect(await give()).toMatchObject({ terms: { attempt: 1 } })
  const placed = await takeOrder(edge.context, edge.liveItem(item), click('ann'))
  if (placed.kind !== 'placed') throw new Error(placed.kind)
  expect(await give()).toMatchObject({ terms: { attempt: 1 } })
  await ledger.closings.close(item, [placed.order.id], 'cancelled')
  expect(await give()).toMatchObject({ terms: { attempt: 2 } })
  expect(await repeatOrder(edge.context, edge.liveItem(item), item, 'ann', 1)).toMatchObject({
    kind: 'same',
    order: { state: 'closed' },
  })
})

test("behind the ledger's door a crowd that asks again is looked up in one statement", async () => {
  const cluster = openCluster(ledger)
  const { item } = await cluster.openItem({ units: 5 })
  await ledger.rights.setDoor(item, await cluster.raiseEpoch(item), 'ledger')
  const batches: number[] = []
  const edge = cluster.edge({
    orders: real => ({
      ...real,
      ofBuyers(keys) {
        batches.push(keys.length)
        return real.ofBuyers(keys)
      },
    }),
  })
  await edge.round()
  const buyers = ['a', 'b b', 'c', 'd', 'e', 'f']
  for (const buyer of buyers) await takeOrder(edge.context, edge.liveItem(item), click(buyer))
  const asked = buyers.map(buyer => repeatOrder(edge.context, edge.liveItem(item), item, buyer, 1))
  const answers = await Promise.all(asked)
  expect(answers.map(one => one?.kind)).toEqual(['same', 'same', 'same', 'same', 'same', undefined])
  expect(answers.map(one => (one?.kind === 'same' ? one.order.buyer : 'f'))).toEqual(buyers)
  expect(batches).toEqual([6])
})

test('a process that ends hands over everything, whatever the epoch', async () => {
  const { item, edge, take } = await openEdge()
  await take('ann')
  expect(await handOverAll(edge.handOver)).toBe(true)
  expect(await ledger.sql('SELECT buyer, state FROM orders WHERE item = $1', [item])).toEqual([
    { buyer: 'ann', state: 'pending' },
  ])
})
