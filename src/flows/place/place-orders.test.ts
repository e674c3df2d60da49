import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import { armFaultPoints } from '../../base/fault-points.ts'
import type { PlaceReply } from '../../ledger/orders.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)

async function openItem(units = 10) {
  const { sale, item } = await stage.fresh({ units })
  const { epoch } = await stage.keeper().untilDoor(item, 'gate')
  return { sale, item, epoch }
}

async function reserve(item: string, epoch: number, buyers: readonly string[]) {
  const asks = buyers.map(buyer => stage.ask(buyer))
  const reply = await stage.gate.reserve(item, epoch, asks)
  expect(reply).toMatchObject({ answers: asks.map(() => ({ code: 'reserved' })) })
  return asks.map(ask => ask.order)
}

/** In the order they are asked for. */
async function rowsOf(...ids: readonly (string | undefined)[]) {
  const found = new Map((await ledger.orders.find(ids as string[])).map(order => [order.id, order]))
  return ids.map(id => found.get(id ?? ''))
}

const depthOf = async (item: string) => (await stage.outbox.depth([item]))[0]?.entries
const leftOf = async (item: string) => (await stage.gate.status([item])).items[0]?.left
const spoken = () => stage.said.flatMap(message => (message.kind === 'orders' ? message.orders : []))
const away = () => new Fault('ledger_away', 'the ledger does not answer', { retryable: true, outcomeUnknown: true })

describe('placing from the outbox', () => {
  test('keeps the order in which it was reserved, deletes after the commit, and says so', async () => {
    const { sale, item, epoch } = await openItem()
    const first = await reserve(item, epoch, ['ann', 'ben'])
    const second = await reserve(item, epoch, ['cyd'])
    const worker = stage.worker('w', item)
    await worker.work()
    expect(await depthOf(item)).toBe(0)
    expect(spoken().map(order => order.id)).toEqual([...first, ...second])
    expect(spoken().every(order => order.state === 'pending')).toBe(true)
    expect(await ledger.units(sale)).toMatchObject({ available: 7, pending: 3 })
    expect(worker.alarms).toEqual([])
  })

  test('is woken by a message, and goes on for as long as there is something', async () => {
    const { item, epoch } = await openItem()
    const worker = stage.worker('w', item)
    await worker.work()
    await reserve(item, epoch, ['ann'])
    const [partition] = stage.outbox.partitions([item])
    stage.hear({ kind: 'reserved', item, partition: partition!, epoch, version: 2, left: 9, buyers: ['ann'] })
    await worker.idle()
    expect(await depthOf(item)).toBe(0)
  })

  test('leaves an item to the worker that has it, and takes over when that lets go', async () => {
    const { item, epoch } = await openItem()
    const one = stage.worker('one', item)
    const other = stage.worker('other', item)
    await reserve(item, epoch, ['ann'])
    await one.work()
    await reserve(item, epoch, ['ben'])
    await other.work()
    expect(await depthOf(item)).toBe(1)
    // A graceful stop gives the item back.
    await one.stop()
    await other.work()
    expect(await depthOf(item)).toBe(0)
  })

  for (const point of ['outbox.take', 'place.before', 'place.after', 'outbox.done'])
    test(`a death at ${point} costs nothing and does nothing twice`, async () => {
      const { sale, item, epoch } = await openItem()
      const [order] = await reserve(item, epoch, ['ann'])
      armFaultPoints(`${point}=fail`)
      await stage.worker('dies', item).work()
      armFaultPoints('')
      stage.leases.clear()
      await stage.worker('next', item).work()
      expect(await depthOf(item)).toBe(0)
      expect(await ledger.orders.find([order!])).toMatchObject([{ state: 'pending' }])
      expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
      expect((await stage.gate.status([item])).items).toMatchObject([{ left: 9, held: 1 }])
    })

  test('a ledger that is away leaves the entries where they are, and they are tried again', async () => {
    const { item, epoch } = await openItem()
    await reserve(item, epoch, ['ann'])
    let isAway = true
    const { orders } = ledger
    const worker = stage.worker('w', item, {
      orders: { ...orders, place: (...args) => (isAway ? Promise.reject(away()) : orders.place(...args)) },
    })
    await worker.work()
    expect(await depthOf(item)).toBe(1)
    expect(await ledger.deadLetters(10)).toEqual([])
    isAway = false
    await until('it is placed', async () => {
      await worker.work()
      return (await depthOf(item)) === 0
    })
  })

  test('a gate that is away is no bug', async () => {
    const { item } = await openItem()
    stage.server.away = true
    const worker = stage.worker('w', item)
    await worker.work()
    await worker.round()
    expect(worker.lines.some(line => line.level === 'warn')).toBe(true)
  })
})

describe('what the ledger refuses', () => {
  test('is a row, its units are back in the gate, and it is counted: a buyer was told "reserved"', async () => {
    const { sale, item, epoch } = await openItem(2)
    // The ledger has sold one unit that the gate knows nothing of.
    await ledger.orders.place(item, epoch, false, [ledger.ask('eve')])
    const [ann, ben] = await reserve(item, epoch, ['ann', 'ben'])
    const worker = stage.worker('w', item)
    await worker.work()
    expect(worker.alarms).toEqual(['refused_acknowledged'])
    expect(await rowsOf(ann, ben)).toMatchObject([
      { id: ann!, state: 'pending' },
      { id: ben!, state: 'closed', reason: 'refused' },
    ])
    expect(spoken().map(order => order.reason)).toEqual([undefined, 'refused'])
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 1, held: 1 }])
    expect(await ledger.units(sale)).toMatchObject({ available: 0, pending: 2 })
  })

  test('E7: a duplicate of an order that stands is refused by a row, and is no broken word', async () => {
    const { item, epoch } = await openItem()
    const [first] = await reserve(item, epoch, ['ann'])
    const twin = stage.ask('ann')
    stage.put(item, epoch, [{ ...twin, reservedAtMs: twin.askedAtMs }])
    const worker = stage.worker('w', item)
    await worker.work()
    expect(worker.alarms).toEqual([])
    expect(await ledger.orders.find([twin.order])).toMatchObject([{ reason: 'refused', supersededBy: first! }])
  })

  test('E5: an entry of an older epoch gets the row it has, or a refusal; never a unit of the new gate', async () => {
    const { sale, item, epoch } = await openItem()
    const [had] = await reserve(item, epoch, ['ann'])
    const kept = stage.entries.get(item)!
    await stage.worker('w', item).work()
    const late = stage.ask('ben')
    const next = await ledger.rebuild(item)
    stage.entries.set(item, [...kept])
    stage.put(item, epoch, [{ ...late, reservedAtMs: late.askedAtMs }])
    stage.leases.clear()
    const worker = stage.worker('w2', item)
    await worker.work()
    expect(await depthOf(item)).toBe(0)
    expect(await rowsOf(had, late.order)).toMatchObject([{ state: 'pending' }, { reason: 'refused' }])
    expect(worker.alarms).toEqual(['refused_acknowledged'])
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
    expect(next).toBe(epoch + 1)
  })

  test('its units are not forgotten when the gate’s answer is lost', async () => {
    const { item, epoch } = await openItem(1)
    await ledger.orders.place(item, epoch, false, [ledger.ask('eve')])
    await reserve(item, epoch, ['ann'])
    let lost = true
    const worker = stage.worker('w', item, {
      outbox: {
        ...stage.outbox,
        async release(...args) {
          if (!lost) return stage.outbox.release(...args)
          lost = false
          return { status: 'unknown' }
        },
      },
    })
    await worker.work()
    expect(await depthOf(item)).toBe(1)
    await until('it is back', async () => {
      await worker.work()
      return (await leftOf(item)) === 1
    })
    expect(await depthOf(item)).toBe(0)
    expect(worker.alarms).toEqual(['refused_acknowledged'])
  })
})

describe('poison', () => {
  test('holds up nobody: a dead letter, an alarm, its units back in the gate; everybody else has an order', async () => {
    const { sale, item, epoch } = await openItem()
    const orders = await reserve(item, epoch, ['ann', 'b\0d', 'cyd'])
    const worker = stage.worker('w', item)
    await worker.work()
    expect(await depthOf(item)).toBe(0)
    expect(worker.alarms).toEqual(['dead_letter'])
    expect((await ledger.orders.find(orders)).map(order => order.buyer).toSorted()).toEqual(['ann', 'cyd'])
    expect(await ledger.deadLetters(10)).toMatchObject([{ item, epoch, order: orders[1]! }])
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 8, held: 2 }])
    expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
  })

  test('whose order can be born closed has that row', async () => {
    const { item, epoch } = await openItem()
    const [order] = await reserve(item, epoch, ['ann'])
    const { orders } = ledger
    const worker = stage.worker('w', item, {
      orders: {
        ...orders,
        // A reason of its own that only placing meets.
        place: (id, under, acknowledged, asks): Promise<PlaceReply> =>
          asks.some(ask => ask.buyer === 'ann')
            ? Promise.reject(new Error('value out of range'))
            : orders.place(id, under, acknowledged, asks),
      },
    })
    await worker.work()
    expect(await ledger.orders.find([order!])).toMatchObject([{ state: 'closed', reason: 'refused' }])
    expect(spoken()).toMatchObject([{ id: order!, reason: 'refused' }])
    expect(await leftOf(item)).toBe(10)
  })

  test('that has an order all the same keeps its units: another process had placed it meanwhile', async () => {
    const { item, epoch } = await openItem()
    const [order] = await reserve(item, epoch, ['ann'])
    const { orders } = ledger
    const worker = stage.worker('w', item, {
      orders: {
        ...orders,
        async place(id, under, acknowledged, asks): Promise<PlaceReply> {
          const reply = await orders.place(id, under, acknowledged, asks)
          if (asks.length === 0) return reply
          throw new Error('the reply can not be read')
        },
      },
    })
    await worker.work()
    expect(await depthOf(item)).toBe(0)
    expect(await ledger.orders.find([order!])).toMatchObject([{ state: 'pending' }])
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 9, held: 1 }])
  })

  test('that can not even be read is written down and leaves', async () => {
    const { item, epoch } = await openItem()
    const id = stage.put(item, epoch, undefined, 'gar\0bage')
    const [order] = await reserve(item, epoch, ['ann'])
    const worker = stage.worker('w', item)
    await worker.work()
    expect(await depthOf(item)).toBe(0)
    expect((await ledger.deadLetters(10)).filter(letter => letter.item === item)).toMatchObject([
      { entry: id, order: undefined },
    ])
    expect(await ledger.orders.find([order!])).toMatchObject([{ state: 'pending' }])
    expect(worker.alarms).toEqual(['dead_letter'])
  })

  test('is nobody when the ledger can place nothing at all: everything stays', async () => {
    const { item, epoch } = await openItem()
    await reserve(item, epoch, ['ann', 'ben'])
    const worker = stage.worker('w', item, {
      orders: { ...ledger.orders, place: () => Promise.reject(new Error('function place does not exist')) },
    })
    await worker.work()
    expect(await depthOf(item)).toBe(1)
    expect(worker.alarms).toEqual([])
    expect((await ledger.deadLetters(10)).filter(letter => letter.item === item)).toEqual([])
  })

  test('an order id of a buyer else’s order ends in a letter, not in a row', async () => {
    const { item, epoch } = await openItem()
    const eve = ledger.ask('eve')
    await ledger.orders.place(item, epoch, false, [eve])
    stage.put(item, epoch, [{ ...eve, buyer: 'ann' }])
    const worker = stage.worker('w', item)
    await worker.work()
    expect(worker.alarms).toEqual(['foreign_order_id', 'dead_letter'])
    expect(await depthOf(item)).toBe(0)
    expect(await ledger.orders.find([eve.order])).toMatchObject([{ buyer: 'eve', state: 'pending' }])
  })
})

describe('E4: what a worker holds', () => {
  test('is older than a new epoch until it is placed and gone from the outbox', async () => {
    const { item, epoch } = await openItem()
    await reserve(item, epoch, ['ann'])
    const asking = Promise.withResolvers<void>()
    const placing = Promise.withResolvers<void>()
    let began = false
    const { orders } = ledger
    const { outbox } = stage
    const worker = stage.worker('w', item, {
      outbox: {
        ...outbox,
        async take(...args) {
          const taken = await outbox.take(...args)
          await asking.promise
          return taken
        },
      },
      orders: {
        ...orders,
        async place(...args) {
          began = true
          await placing.promise
          return orders.place(...args)
        },
      },
    })
    expect(worker.holdsOlder(item, epoch + 1)).toBe(false)
    await worker.round()
    await until('it was asked for', () => stage.calls.includes('take'))
    // The answer is on its way: nobody knows what it will be.
    expect(worker.holdsOlder(item, epoch + 1)).toBe(true)
    asking.resolve()
    await until('it is placing', () => began)
    expect(worker.holdsOlder(item, epoch + 1)).toBe(true)
    placing.resolve()
    await worker.idle()
    expect(worker.holdsOlder(item, epoch + 1)).toBe(false)
  })

  test('is nothing older when it is of the epoch asked for', async () => {
    const { item, epoch } = await openItem()
    await reserve(item, epoch, ['ann'])
    const placing = Promise.withResolvers<void>()
    let began = false
    const { orders } = ledger
    const worker = stage.worker('w', item, {
      orders: {
        ...orders,
        async place(...args) {
          began = true
          await placing.promise
          return orders.place(...args)
        },
      },
    })
    await worker.round()
    await until('it is placing', () => began)
    expect(worker.holdsOlder(item, epoch)).toBe(false)
    expect(worker.holdsOlder(item, epoch + 1)).toBe(true)
    placing.resolve()
    await worker.idle()
  })

  test('a stop finishes the batch, takes nothing more and lets go of the item', async () => {
    const { item, epoch } = await openItem()
    const [order] = await reserve(item, epoch, ['ann'])
    const placing = Promise.withResolvers<void>()
    const { orders } = ledger
    let began = false
    const worker = stage.worker('w', item, {
      orders: {
        ...orders,
        async place(...args) {
          began = true
          await placing.promise
          return orders.place(...args)
        },
      },
    })
    await worker.round()
    await until('it is placing', () => began)
    const stopped = worker.stop()
    await reserve(item, epoch, ['ben'])
    placing.resolve()
    await stopped
    expect(await ledger.orders.find([order!])).toMatchObject([{ state: 'pending' }])
    expect(await depthOf(item)).toBe(1)
    expect(stage.leases.has(item)).toBe(false)
  })
})
