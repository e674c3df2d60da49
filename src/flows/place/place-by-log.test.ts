/** Placing with a log in the middle: the relay and the group, on a real ledger, through every death and every repetition. */

import { describe, expect, test } from 'bun:test'
import { keeperStageForFile, ledgerForFile } from '../../../test/harness/flow-stage.ts'
import { createMemoryLog, type MemoryLog } from '../../../test/harness/memory-log.ts'
import { systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { armFaultPoints } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import { noMeters } from '../../base/meters.ts'
import { withDeadTopic } from './dead-records.ts'
import { createStraightDelivery } from './delivery.ts'
import { findStranded } from './find-stranded.ts'
import { createPace } from './pace.ts'
import { createRecordPlacer } from './place-records.ts'
import { createRelayDelivery } from './relay-entries.ts'

const ledger = ledgerForFile()
const stage = keeperStageForFile(ledger)
const TOPIC = 'reservations'
const DEAD = 'dead'

/** An item at the gate, a log, and as many relays and members as are asked for. */
async function openStage(units = 10, bytesMax?: number) {
  const { sale, item } = await stage.fresh({ units })
  const { epoch } = await stage.keeper().untilDoor(item, 'gate')
  const log = createMemoryLog(1, bytesMax)
  const alarms: string[] = []
  const stayedOut: number[] = []
  const pressing = new Set<string>()
  const nothing = () => {}
  const quiet: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing }
  const relay = (name = 'relay') =>
    stage.worker(name, item, {}, context =>
      createRelayDelivery(
        {
          ...context,
          cursor: stage.cursor,
          sender: log.sender,
          topic: TOPIC,
          alarm: what => void alarms.push(what),
          presses: one => pressing.has(one),
        },
        createStraightDelivery(context),
      ),
    )
  const member = (change: Partial<Parameters<typeof createRecordPlacer>[0]> = {}) => {
    const letters = { journal: stage.journal, sender: log.sender, topic: DEAD, clock: systemClock, log: quiet }
    return createRecordPlacer({
      outbox: stage.outbox,
      orders: ledger.orders,
      journal: withDeadTopic(letters, 3),
      channel: { publish: message => void stage.said.push(message) },
      clock: systemClock,
      log: quiet,
      meters: noMeters,
      alarm: what => void alarms.push(what),
      pace: createPace(() => systemClock.elapsed()),
      exists: async one => (await ledger.rights.read(one)) !== undefined,
      stayOut: forMs => void stayedOut.push(forMs),
      ...change,
    })
  }
  const reserve = async (...buyers: string[]) => {
    const orders: string[] = []
    for (const buyer of buyers) orders.push(await stage.reserve(item, epoch, buyer))
    return orders
  }
  /** All that waits in the log is handled. */
  const consume = async (by = member()) => {
    for (let batch = log.batch(TOPIC); batch !== undefined; batch = log.batch(TOPIC)) {
      const before = log.committed(TOPIC)
      await by.handle(batch)
      if (log.committed(TOPIC) === before) return
    }
  }
  const seen: Parameters<typeof findStranded>[0]['seen'] = new Map()
  const stranded = (nowMs = systemClock.now() + 60_000) =>
    findStranded({
      seen,
      outbox: stage.outbox,
      cursor: stage.cursor,
      messages: log,
      topic: TOPIC,
      group: 'workers',
      log: quiet,
      alarm: what => void alarms.push(what),
      items: () => [item],
      nowMs: () => nowMs,
    })
  return { sale, item, epoch, log, alarms, stayedOut, pressing, relay, member, reserve, consume, stranded }
}

const depthOf = async (item: string) => (await stage.outbox.depth([item]))[0]?.entries
const buyersIn = (log: MemoryLog) => log.values(TOPIC).map(value => value.asks[0][1])
const spoken = () => stage.said.flatMap(message => (message.kind === 'orders' ? message.orders.map(one => one.id) : []))

describe('through the log', () => {
  test('entries are placed in their order; they leave the outbox after the commit, and no sooner', async () => {
    const { sale, item, relay, reserve, consume, log } = await openStage()
    const orders = await reserve('ann', 'ben', 'cyd')
    await relay().work()
    expect(buyersIn(log)).toEqual(['ann', 'ben', 'cyd'])
    expect(await depthOf(item)).toBe(3)
    await relay('other').work()
    expect(buyersIn(log)).toHaveLength(3)
    await consume()
    expect(await depthOf(item)).toBe(0)
    expect(spoken()).toEqual(orders)
    expect(log.committed(TOPIC)).toBe(3n)
    expect(await ledger.units(sale)).toMatchObject({ available: 7, pending: 3 })
  })

  test('a relay that dies after the send and before its cursor sends again: nothing is skipped, nothing placed twice', async () => {
    const { sale, item, relay, reserve, consume, log } = await openStage()
    const orders = await reserve('ann', 'ben')
    armFaultPoints('relay.sent=fail')
    await relay('dies').work()
    armFaultPoints('')
    stage.leases.clear()
    await reserve('cyd').then(([order]) => orders.push(order!))
    await relay('next').work()
    expect(buyersIn(log)).toEqual(['ann', 'ben', 'ann', 'ben', 'cyd'])
    await consume()
    expect(await depthOf(item)).toBe(0)
    expect(await ledger.units(sale)).toMatchObject({ available: 7, pending: 3 })
    expect((await ledger.orders.find(orders)).map(order => order.state)).toEqual(['pending', 'pending', 'pending'])
  })

  for (const point of ['place.before', 'place.after', 'consume.deleted', 'consume.committed'])
    test(`a member that dies at ${point} costs nothing and does nothing twice`, async () => {
      const { sale, item, relay, reserve, consume, member, log } = await openStage()
      await reserve('ann', 'ben')
      await relay().work()
      armFaultPoints(`${point}=fail`)
      await expect(member().handle(log.batch(TOPIC)!)).rejects.toBeInstanceOf(Fault)
      armFaultPoints('')
      await consume()
      expect(await depthOf(item)).toBe(0)
      expect(log.committed(TOPIC)).toBe(2n)
      expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
      expect((await stage.gate.status([item])).items).toMatchObject([{ left: 8, held: 2 }])
    })

  test('two members on one partition, one of which has lost it, have no second effect', async () => {
    const { sale, relay, reserve, member, log } = await openStage()
    await reserve('ann', 'ben', 'cyd')
    await relay().work()
    const [one, other] = [log.batch(TOPIC, { lost: true })!, log.batch(TOPIC)!]
    await Promise.all([member().handle(one), member().handle(other)])
    expect(log.committed(TOPIC)).toBe(3n)
    expect(await ledger.units(sale)).toMatchObject({ available: 7, pending: 3 })
  })

  test('a replay from the beginning, after the gate was built anew, changes nothing and raises no alarm', async () => {
    const { sale, item, relay, reserve, consume, member, log, alarms } = await openStage()
    const orders = await reserve('ann', 'ben')
    await relay().work()
    await consume()
    stage.restartEmpty()
    const keeper = stage.keeper()
    await keeper.round()
    const { epoch } = await keeper.untilDoor(item, 'gate')
    expect(epoch).toBeGreaterThan(log.values(TOPIC)[0].epoch)
    const before = await ledger.orders.find(orders)
    await member().handle(log.batch(TOPIC, { from: 0n })!)
    expect(await ledger.orders.find(orders)).toEqual(before)
    expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
    expect((await stage.gate.status([item])).items).toMatchObject([{ left: 8, held: 2 }])
    expect(alarms).toEqual([])
  })

  test('a gate that is away when the copies are read: they are placed, and the log is not held up', async () => {
    const { sale, item, relay, reserve, consume, stranded, log } = await openStage()
    await reserve('ann')
    await relay().work()
    stage.server.away = true
    await consume()
    expect(log.committed(TOPIC)).toBe(1n)
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
    stage.server.away = false
    expect(await depthOf(item)).toBe(1)
    // The entry that stayed is copied again, and deleted this time.
    expect(await stranded()).toBe(1)
    await relay().work()
    await consume()
    expect(await depthOf(item)).toBe(0)
    expect(await ledger.units(sale)).toMatchObject({ available: 9, pending: 1 })
  })

  test('a log that is away leaves all in the outbox; it is sent when the log is back', async () => {
    const { item, relay, reserve, consume, log } = await openStage()
    await reserve('ann')
    log.state.away = true
    const worker = relay()
    await worker.work()
    expect(await depthOf(item)).toBe(1)
    expect(worker.lines.map(line => line.level)).toContain('warn')
    log.state.away = false
    stage.leases.clear()
    await relay('next').work()
    await consume()
    expect(await depthOf(item)).toBe(0)
  })

  test('an item whose outbox a rebuild waits for is placed straight, whether it was copied or not', async () => {
    const { sale, item, relay, reserve, consume, pressing } = await openStage()
    await reserve('ann')
    const worker = relay()
    await worker.work()
    await reserve('ben')
    pressing.add(item)
    await worker.work()
    expect(await depthOf(item)).toBe(0)
    await consume()
    expect(await ledger.units(sale)).toMatchObject({ available: 8, pending: 2 })
  })

  test('a relay and a member hold what they have not finished: a rebuild is not told otherwise (E4)', async () => {
    const { item, epoch, relay, reserve, member, log } = await openStage()
    await reserve('ann')
    await relay().work()
    const placing = Promise.withResolvers<void>()
    const { orders } = ledger
    const slow = member({
      orders: { ...orders, place: (...args) => placing.promise.then(() => orders.place(...args)) },
    })
    const handled = slow.handle(log.batch(TOPIC)!)
    expect(slow.holdsOlder(item, epoch + 1)).toBe(true)
    expect(slow.holdsOlder(item, epoch)).toBe(false)
    placing.resolve()
    await handled
    expect(slow.holdsOlder(item, epoch + 1)).toBe(false)
  })
})

describe('entries whose copies are lost', () => {
  test('are copied again when the topic was made anew, with an alarm', async () => {
    const { item, relay, reserve, consume, stranded, log, alarms } = await openStage()
    await reserve('ann', 'ben')
    await relay().work()
    log.empty(TOPIC)
    expect(await stranded()).toBe(1)
    expect(alarms).toEqual(['copies_lost'])
    await relay().work()
    await consume()
    expect(await depthOf(item)).toBe(0)
  })

  test('are copied again when the readers were set forward; those that only wait are left alone', async () => {
    const { item, relay, reserve, consume, stranded, log } = await openStage()
    await reserve('ann')
    await relay().work()
    expect(await stranded()).toBe(0)
    log.setCommitted(TOPIC, 1n)
    expect(await stranded(systemClock.now())).toBe(0)
    expect(await stranded()).toBe(1)
    await relay().work()
    await consume()
    expect(await depthOf(item)).toBe(0)
  })
})

test('an entry that was passed is copied again also while its item is busy and the newest copy always waits', async () => {
  const { sale, item, relay, reserve, consume, log, stranded, member } = await openStage()
  await reserve('ann')
  const worker = relay()
  await worker.work()
  // The readers are set forward past its copy, and more comes behind it, all the time.
  log.setCommitted(TOPIC, 1n)
  await reserve('ben')
  await worker.work()
  expect(await stranded()).toBe(0)
  await consume(member())
  await reserve('cyd')
  await worker.work()
  expect(await ledger.units(sale)).toMatchObject({ pending: 1 })
  expect(await stranded()).toBe(1)
  await worker.work()
  await consume()
  expect(await ledger.units(sale)).toMatchObject({ pending: 3 })
  expect(await depthOf(item)).toBe(0)
})

describe('a message that can not be placed', () => {
  test('and can not be read goes to the dead topic, with its reason, and those behind it are placed', async () => {
    const { sale, item, relay, reserve, consume, log, alarms } = await openStage()
    log.put(TOPIC, item, 'no JSON')
    log.put(TOPIC, item, JSON.stringify({ v: 1, partition: item, epoch: 1, entry: '*', asks: [['1', 'a', 1, 1, 1]] }))
    log.put(TOPIC, item, 'x'.repeat(1_200_000))
    await reserve('ann')
    await relay().work()
    await consume()
    expect(await ledger.units(sale)).toMatchObject({ pending: 1 })
    expect(log.values(DEAD).map(({ why, entry }) => [why, entry])).toEqual([
      ['it is no JSON object', 'message 0:0'],
      ['it names no outbox entry', 'message 0:1'],
      ['1200000 bytes are more than an entry has', 'message 0:2'],
    ])
    expect(alarms).toEqual(['dead_letter', 'dead_letter', 'dead_letter'])
    expect(await ledger.deadLetters(10)).toHaveLength(3)
  })

  test('because the ledger can not store it: dead letter, an order born closed, and the others are placed', async () => {
    const { sale, item, epoch, relay, reserve, consume, log, alarms } = await openStage()
    const bad = { ...stage.ask('poison'), quantity: 2 ** 40, reservedAtMs: systemClock.now() }
    stage.put(item, epoch, [bad])
    await reserve('ann')
    await relay().work()
    await consume()
    expect(await ledger.orders.find([bad.order])).toMatchObject([{ state: 'closed', reason: 'refused' }])
    expect(await ledger.units(sale)).toMatchObject({ pending: 1 })
    expect(log.values(DEAD)).toMatchObject([{ order: bad.order, item }])
    expect(alarms).toContain('dead_letter')
    expect(await depthOf(item)).toBe(0)
  })

  test('of a newer version stays where it is, with an alarm, and the member lets go of its partitions for a moment', async () => {
    const { sale, item, relay, reserve, consume, log, alarms, stayedOut } = await openStage()
    await reserve('ann')
    await relay().work()
    log.put(TOPIC, item, JSON.stringify({ v: 2, anything: true }))
    await reserve('ben')
    await relay().work()
    await consume()
    expect(log.committed(TOPIC)).toBe(1n)
    expect(await ledger.units(sale)).toMatchObject({ pending: 1 })
    expect(alarms).toEqual(['newer_message'])
    expect(stayedOut).toHaveLength(1)
    expect(log.values(DEAD)).toEqual([])
  })

  test('with a field that is not known here is placed all the same', async () => {
    const { sale, relay, reserve, consume, log, item } = await openStage()
    await reserve('ann')
    await relay().work()
    const [value] = log.values(TOPIC)
    log.empty(TOPIC)
    log.put(TOPIC, item, JSON.stringify({ ...value, region: 'eu', asks: [[...value.asks[0], 'more']] }))
    await consume()
    expect(await ledger.units(sale)).toMatchObject({ pending: 1 })
  })

  test('of an item that the ledger has deleted is passed over', async () => {
    const { sale, relay, reserve, consume, log, alarms } = await openStage()
    log.put(TOPIC, '77', JSON.stringify({ v: 1, partition: '77', epoch: 1, entry: '1-0', asks: [['5', 'a', 1, 1, 1]] }))
    await reserve('ann')
    await relay().work()
    await consume()
    expect(log.committed(TOPIC)).toBe(2n)
    expect(await ledger.units(sale)).toMatchObject({ pending: 1 })
    expect(alarms).toEqual([])
  })

  test('and no message can hold it is placed straight, after those before it', async () => {
    const { sale, item, relay, reserve, consume, log, alarms } = await openStage(10, 150)
    const [first] = await reserve('ann')
    const [large] = await reserve('b'.repeat(120))
    const [last] = await reserve('cyd')
    const worker = relay()
    await worker.work()
    expect(await ledger.units(sale)).toMatchObject({ pending: 0 })
    await consume()
    stage.leases.clear()
    const next = relay('next')
    for (let i = 0; i < 3; i++) {
      await next.work()
      await consume()
    }
    expect(await depthOf(item)).toBe(0)
    expect(alarms).toEqual(['entry_too_large'])
    expect(log.values(DEAD)).toEqual([])
    expect(spoken()[0]).toBe(first!)
    expect(new Set(spoken())).toEqual(new Set([first!, large!, last!]))
  })
})
