import { describe, expect, test } from 'bun:test'
import { openCluster } from '../../../test/harness/cluster-edge.ts'
import { ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { until } from '../../../test/harness/until.ts'
import { Fault } from '../../base/fault.ts'
import { createFaultyGate, type GateMishap } from '../../gate/contract/faulty-gate.ts'
import { takeOrder } from '../sell/take-order.ts'
import { READ_AFTER_MS } from './acknowledged-reservations.ts'
import { handOverAll, readAcknowledged } from './hand-over.ts'

type Edge = ReturnType<ReturnType<typeof openCluster>['edge']>

const ledger = ledgerForFile()

const away = () => Promise.reject(new Fault('ledger_away', 'nobody answers', { retryable: true }))
const click = (buyer: string) => ({ buyer, attempt: 1, quantity: 1 })
const rowsOf = (item: string) =>
  ledger.sql('SELECT id, buyer, state, reason, epoch FROM orders WHERE item = $1 ORDER BY id', [item])

/** Rounds: none of them waits for a hand-over as long as the ledger may take. */
const handsOver = (edge: Edge) =>
  until('nothing acknowledged is left to hand over', async () => {
    await edge.round()
    return edge.acknowledged.size() === 0
  })
const confirms = (edge: Edge, epoch: number) =>
  until('the epoch is confirmed', async () => {
    await edge.round()
    return edge.confirmed.some(one => one.epoch === epoch)
  })

describe('E6: what was acknowledged reaches the ledger by the hand of this edge', () => {
  test('when the ledger shows a newer epoch: under the epoch it was acknowledged under, so it is placed; then confirmed (E4)', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const edge = cluster.edge()
    await edge.round()
    const outcome = await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    expect(outcome.kind).toBe('reserved')
    expect(await rowsOf(item)).toEqual([])
    expect(edge.confirmed).toEqual([{ item, epoch }])
    const next = await cluster.raiseEpoch(item)
    await confirms(edge, next)
    expect(await rowsOf(item)).toMatchObject([{ buyer: 'ann', state: 'pending', epoch: String(epoch) }])
    expect(edge.acknowledged.size()).toBe(0)
    expect(edge.told).toMatchObject([{ buyer: 'ann', state: 'pending' }])
    expect(edge.confirmed.at(-1)).toEqual({ item, epoch: next })
    expect(edge.alarms).toEqual([])
  })

  test('when the gate says stale, before any newer epoch is seen', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const mishap: { now: GateMishap | undefined } = { now: undefined }
    const edge = cluster.edge({
      gate: real => createFaultyGate(real, verb => (verb === 'reserve' ? mishap.now : undefined)),
    })
    await edge.round()
    await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    mishap.now = 'stale'
    expect((await takeOrder(edge.context, edge.liveItem(item), click('bob'))).kind).toBe('busy')
    expect(edge.liveItem(item).current).toBe(false)
    mishap.now = undefined
    await handsOver(edge)
    expect(await rowsOf(item)).toMatchObject([{ buyer: 'ann', state: 'pending' }])
    // It was the right gate after all: a later look shows the epoch active.
    expect((await takeOrder(edge.context, edge.liveItem(item), click('bob'))).kind).toBe('reserved')
  })

  test('`same` alike: an edge that only repeated what another reserved hands it over too', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const first = cluster.edge()
    const second = cluster.edge()
    await first.round()
    await second.round()
    expect((await takeOrder(first.context, first.liveItem(item), click('ann'))).kind).toBe('reserved')
    const again = await takeOrder(second.context, second.liveItem(item), { ...click('ann'), attempt: 2 })
    expect(again).toMatchObject({ kind: 'same_reserved', reservation: { buyer: 'ann', attempt: 1 } })
    // The first edge dies, and the gate with it; only the second has told anybody.
    await cluster.raiseEpoch(item)
    await handsOver(second)
    expect(await rowsOf(item)).toMatchObject([{ buyer: 'ann', state: 'pending', epoch: String(epoch) }])
  })

  test('when its sale is not followed any more: neither a newer epoch nor a stale gate would be seen', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const edge = cluster.edge()
    await edge.round()
    await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    // The workers were away for longer than a sale is followed after its end.
    await cluster.openItem()
    await handsOver(edge)
    expect(edge.registry.has(item)).toBe(false)
    expect(await rowsOf(item)).toMatchObject([{ buyer: 'ann', state: 'pending', epoch: String(epoch) }])
  })

  test('a ledger that does not take it keeps it remembered and unconfirmed, and the next round settles both', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const trouble = { on: false }
    const edge = cluster.edge({
      orders: real => ({ ...real, place: (...call) => (trouble.on ? away() : real.place(...call)) }),
    })
    await edge.round()
    await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    const next = await cluster.raiseEpoch(item)
    trouble.on = true
    await edge.round()
    expect(edge.acknowledged.holdsOlder(item, next)).toBe(true)
    expect(edge.confirmed.map(one => one.epoch)).not.toContain(next)
    trouble.on = false
    await confirms(edge, next)
    expect(await rowsOf(item)).toMatchObject([{ buyer: 'ann', state: 'pending' }])
  })

  test('what was refused after all is alarmed, and the buyer is told by a row', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem({ units: 1 })
    const edge = cluster.edge()
    await edge.round()
    await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    // The edge slept through a whole rebuild: its word is of an epoch that nobody places any more.
    const next = await cluster.raiseEpoch(item)
    await cluster.activate(item, next)
    await handsOver(edge)
    expect(await rowsOf(item)).toMatchObject([{ buyer: 'ann', state: 'closed', reason: 'refused' }])
    expect(edge.alarms).toEqual(['refused_acknowledged'])
    expect(edge.told).toMatchObject([{ state: 'closed', reason: 'refused' }])
  })

  test('a lost message is made up for by looking into the ledger', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const edge = cluster.edge()
    await edge.round()
    /** As if it were that moment, however long the worker took meanwhile. */
    const readAt = (ms: number) =>
      readAcknowledged({ ...edge.handOver, clock: { ...cluster.clock, elapsed: () => ms } })
    const beforeMs = cluster.clock.elapsed()
    await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    const afterMs = cluster.clock.elapsed()
    cluster.wire.cut = true
    await cluster.work(item, epoch)
    await readAt(beforeMs + READ_AFTER_MS - 1)
    expect(edge.acknowledged.size()).toBe(1)
    await readAt(afterMs + READ_AFTER_MS)
    expect(edge.acknowledged.size()).toBe(0)
    expect(edge.told).toMatchObject([{ buyer: 'ann', state: 'pending' }])
  })

  test('what no worker has placed by then wakes the workers again: their message may be the one that was lost', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const edge = cluster.edge()
    await edge.round()
    await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    const woken: unknown[] = []
    const wake = (...about: unknown[]) => void woken.push(about)
    const afterMs = cluster.clock.elapsed() + READ_AFTER_MS
    await readAcknowledged({ ...edge.handOver, wake, clock: { ...cluster.clock, elapsed: () => afterMs } })
    expect(woken).toEqual([[item, epoch]])
    expect(edge.acknowledged.size()).toBe(1)
  })
})

describe('E6: one that the ledger can not place', () => {
  /** The rows that fit `when` are rejected by PostgreSQL, with an error that is no fault of its own. */
  async function rejecting(when: string, act: () => Promise<unknown>): Promise<void> {
    await ledger.sql(
      "CREATE OR REPLACE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no such row'; END $$",
    )
    await ledger.sql(
      `CREATE TRIGGER reject BEFORE INSERT ON orders FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION reject()`,
    )
    try {
      await act()
    } finally {
      await ledger.sql('DROP TRIGGER IF EXISTS reject ON orders')
    }
  }
  const lettersOf = async (item: string) => (await ledger.deadLetters(10)).filter(letter => letter.item === item)

  /** An edge that has told all three "reserved". */
  async function toldThree() {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const edge = cluster.edge()
    await edge.round()
    for (const buyer of ['ann', 'bad', 'cyd'])
      expect((await takeOrder(edge.context, edge.liveItem(item), click(buyer))).kind).toBe('reserved')
    return { cluster, item, epoch, edge, bad: edge.acknowledged.ofBuyer('bad')[0]!.id }
  }

  test('holds up nobody: its refusal and a dead letter are rows, the others have their orders, the edge lives', async () => {
    const { cluster, item, epoch, edge, bad } = await toldThree()
    const next = await cluster.raiseEpoch(item)
    await rejecting("NEW.buyer = 'bad' AND NEW.state = 'pending'", () => confirms(edge, next))
    expect(await rowsOf(item)).toMatchObject([
      { buyer: 'ann', state: 'pending', epoch: String(epoch) },
      { buyer: 'bad', state: 'closed', reason: 'refused' },
      { buyer: 'cyd', state: 'pending', epoch: String(epoch) },
    ])
    expect(await lettersOf(item)).toMatchObject([{ epoch, order: bad, entry: 'hand-over', why: 'no such row' }])
    expect(edge.told.map(order => [order.buyer, order.reason])).toEqual([
      ['ann', undefined],
      ['bad', 'refused'],
      ['cyd', undefined],
    ])
    expect(edge.alarms).toEqual(['dead_letter'])
    expect(edge.acknowledged.size()).toBe(0)
  })

  test('nor refuse is remembered and alone unconfirmed, until both its rows can be written', async () => {
    const { cluster, item, edge, bad } = await toldThree()
    const next = await cluster.raiseEpoch(item)
    await rejecting("NEW.buyer = 'bad'", () =>
      until('the others are handed over', async () => {
        await edge.round()
        return edge.acknowledged.size() === 1
      }),
    )
    expect((await rowsOf(item)).map(row => row.buyer)).toEqual(['ann', 'cyd'])
    expect(edge.acknowledged.find(bad)).toBeDefined()
    expect(edge.confirmed.map(one => one.epoch)).not.toContain(next)
    expect(await lettersOf(item)).toMatchObject([{ order: bad }])
    cluster.clock.jump(60_000)
    await confirms(edge, next)
    expect((await rowsOf(item)).map(row => [row.buyer, row.state])).toEqual([
      ['ann', 'pending'],
      ['bad', 'pending'],
      ['cyd', 'pending'],
    ])
  })

  test('is nobody when nothing can be placed at all: everything stays remembered, and the edge lives', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const broken = { on: true }
    const edge = cluster.edge({
      orders: real => ({
        ...real,
        place: (...call) => (broken.on ? Promise.reject(new Error('no function place')) : real.place(...call)),
      }),
    })
    await edge.round()
    await takeOrder(edge.context, edge.liveItem(item), click('ann'))
    const next = await cluster.raiseEpoch(item)
    await edge.round()
    expect(edge.acknowledged.size()).toBe(1)
    expect(await lettersOf(item)).toEqual([])
    broken.on = false
    await confirms(edge, next)
    expect(await rowsOf(item)).toMatchObject([{ buyer: 'ann', state: 'pending' }])
  })

  test('does not keep a process that ends from handing over the other items, nor does one that is locked', async () => {
    const cluster = openCluster(ledger)
    const items = [(await cluster.openItem()).item, (await ledger.openItem()).item, (await ledger.openItem()).item]
    for (const item of items.slice(1)) await cluster.activate(item, await cluster.raiseEpoch(item))
    const edge = cluster.edge({
      orders: real => ({ ...real, place: (...call) => (call[0] === items[1] ? away() : real.place(...call)) }),
    })
    await edge.round()
    for (const item of items)
      for (const buyer of ['bad', 'cyd'])
        expect((await takeOrder(edge.context, edge.liveItem(item), click(buyer))).kind).toBe('reserved')
    await rejecting("NEW.buyer = 'bad' AND NEW.state = 'pending'", async () => {
      await expect(handOverAll(edge.handOver)).rejects.toThrow('nobody answers')
    })
    for (const item of [items[0]!, items[2]!])
      expect((await rowsOf(item)).map(row => [row.buyer, row.state])).toEqual([
        ['bad', 'closed'],
        ['cyd', 'pending'],
      ])
    expect(await rowsOf(items[1]!)).toEqual([])
    expect(edge.acknowledged.items()).toEqual([items[1]!])
  })
})

describe('items that the ledger does not take, because they are locked,', () => {
  /** An edge with something acknowledged of each item, and an older epoch of all. Of the first ones the ledger answers nothing. */
  async function locked(count: number, free: number) {
    const cluster = openCluster(ledger)
    const items = [(await cluster.openItem()).item]
    while (items.length < count + free) {
      const { item } = await ledger.openItem()
      await cluster.activate(item, await cluster.raiseEpoch(item))
      items.push(item)
    }
    const silent = new Set(items.slice(0, count))
    let answer = Promise.withResolvers<never>()
    const edge = cluster.edge({
      orders: real => ({
        ...real,
        place: (item, ...call) => (silent.has(item) ? answer.promise : real.place(item, ...call)),
      }),
    })
    await edge.round()
    for (const item of items)
      expect((await takeOrder(edge.context, edge.liveItem(item), click('ann'))).kind).toBe('reserved')
    const others = items.slice(count)
    const giveUp = () => {
      const before = answer
      answer = Promise.withResolvers()
      before.reject(new Fault('ledger_away', 'locked', { retryable: true }))
    }
    return { cluster, edge, items, others, giveUp }
  }

  async function isPlaced(items: readonly string[]): Promise<boolean> {
    for (const item of items) if ((await rowsOf(item))[0]?.state !== 'pending') return false
    return true
  }

  test('hold up neither the hand-over nor the confirmation of another', async () => {
    const { cluster, edge, items, others } = await locked(2, 2)
    const epochs = new Map<string, number>()
    for (const item of items) epochs.set(item, await cluster.raiseEpoch(item))
    const isConfirmed = (item: string) =>
      edge.confirmed.some(one => one.item === item && one.epoch === epochs.get(item))
    await until('the others are placed and confirmed', async () => {
      await edge.round()
      return others.every(isConfirmed)
    })
    expect(await isPlaced(others)).toBe(true)
    expect(items.filter(isConfirmed)).toEqual(others)
    expect(edge.acknowledged.items().toSorted()).toEqual(items.slice(0, 2).toSorted())
  })

  test('give way when many of them wait: the others have their turn after a fault', async () => {
    const { cluster, edge, items, others, giveUp } = await locked(6, 1)
    for (const item of items) await cluster.raiseEpoch(item)
    await edge.round()
    giveUp()
    await until('the other is placed', async () => {
      await edge.round()
      return isPlaced(others)
    })
  })

  test('do not keep a process that ends from handing over the others', async () => {
    const { edge, others } = await locked(1, 6)
    void handOverAll(edge.handOver).catch(() => {})
    await until('the others are placed', () => isPlaced(others))
  })
})

describe('E4: "seen, nothing older held" is said when it is true', () => {
  test('not while a batch of the old epoch is at the gate', async () => {
    const cluster = openCluster(ledger)
    const { item } = await cluster.openItem()
    const held = Promise.withResolvers<void>()
    const edge = cluster.edge({
      gate: real => ({
        ...createFaultyGate(real, () => undefined),
        async reserve(...call) {
          await held.promise
          return real.reserve(...call)
        },
      }),
    })
    await edge.round()
    const asked = takeOrder(edge.context, edge.liveItem(item), click('ann'))
    await until('the batch is at the gate', () => edge.liveItem(item).atGate === 1)
    const next = await cluster.raiseEpoch(item)
    await edge.round()
    await edge.round()
    expect(edge.liveItem(item).epoch).toBe(next)
    expect(edge.confirmed.map(one => one.epoch)).not.toContain(next)
    held.resolve()
    expect((await asked).kind).toBe('busy')
    await confirms(edge, next)
  })

  test('not while a worker has entries of an older epoch; and again after the lease was lost', async () => {
    const cluster = openCluster(ledger)
    const { item, epoch } = await cluster.openItem()
    const taken = { older: true }
    const edge = cluster.edge({ holdsOlder: () => taken.older })
    await edge.round()
    expect(edge.confirmed).toEqual([])
    taken.older = false
    await edge.round()
    await edge.round()
    expect(edge.confirmed).toEqual([{ item, epoch }])
    edge.lease.node = 2
    await edge.round()
    expect(edge.confirmed).toEqual([
      { item, epoch },
      { item, epoch },
    ])
  })
})
