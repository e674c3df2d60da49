/**
 * The readers of Kafka in the middle, on a real broker: set back, frozen past their session, given what can't be placed, given what only a
 * newer version can read. No second effect, order per item kept, every promise held.
 */

import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import type { DeadLettersAnswer } from '../../src/wire/dead/dead-shapes.ts'
import type { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { gauge } from '../harness/gauges.ts'
import { type KafkaBroker, startKafka } from '../harness/kafka.ts'
import { Till } from '../harness/money.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { alarmsOf, allCommitted, expectInOrder, setReaders, startKafkaCluster, withLog } from './kafka-cluster.ts'
import { Stage } from './stage.ts'

setDefaultTimeout(300_000)

const forFile = new Playground()
const playground = new Playground()
let broker: KafkaBroker
beforeAll(async () => {
  broker = await startKafka(forFile)
})
afterEach(() => playground.undo())
afterAll(() => forFile.undo())

/** Each order's row, as text. */
async function rowsOf(cluster: Cluster): Promise<ReadonlyMap<string, string>> {
  const rows = await cluster.sql('SELECT id, state, version, placed_at, closed_at, epoch FROM orders')
  return new Map(rows.map(row => [String(row.id), JSON.stringify(row)]))
}

const placedBy = (cluster: Cluster) =>
  Promise.all(
    cluster.of('worker').map(one => gauge(one.server(), 'stampede_kafka_records_total{what="placed"}').catch(() => 0)),
  )

test('readers that are set back to the beginning find every row, change none, tell no event twice, and place what comes in its order', async () => {
  const flow = await startKafkaCluster(playground, broker.brokers)
  const { cluster } = flow
  const stage = await Stage.set(cluster, { units: 60, buyers: 70 })
  const half = stage.tickets.slice(0, 40)
  const before = await stage.everybodyBuys(half)
  // Some of what is read again has ended meanwhile.
  const till = new Till(() => cluster.url())
  for (const told of before.slice(0, 3)) {
    if (!('order' in told.answer)) throw new Error('no order')
    await stage.shop.cancel(told.answer.order.id)
    await until(
      'it is closed',
      async () => 'order' in told.answer && (await till.order(told.answer.order.id)).state === 'closed',
    )
  }
  await cluster.quiet(stage.shop, stage.sale)
  await allCommitted(flow)
  const was = await rowsOf(cluster)

  for (const worker of cluster.of('worker')) await worker.server().stop()
  await setReaders(flow, () => 0n)
  const buying = meanwhile(stage.everybodyBuys(stage.tickets.slice(40)))
  for (const worker of cluster.of('worker')) await worker.startAgain()
  const outcomes = await buying
  await allCommitted(flow)
  await cluster.quiet(stage.shop, stage.sale)
  const is = await rowsOf(cluster)
  for (const [id, row] of was) expect(is.get(id)).toBe(row)
  expect(await alarmsOf(cluster, 'dead_letter')).toBe(0)
  await expectInOrder(cluster)
  const facts = await stage.judge([...before, ...outcomes])
  const [placed] = await cluster.sql("SELECT sum(count)::int AS count FROM events WHERE type = 'order.placed'")
  expect(Number(placed!.count), 'one event of placing for each order').toBe(facts.orders!.length)
})

test('a member that is frozen past its session and woken in mid-batch: another has placed its messages, and nothing takes effect twice', async () => {
  const flow = await startKafkaCluster(playground, broker.brokers, {
    // Long enough in each batch to be frozen there.
    faultPoints: { worker: 'place.before=delay:100@*' },
  })
  const { cluster } = flow
  const stage = await Stage.set(cluster, { units: 60, buyers: 70, atATime: 8 })
  const buying = meanwhile(stage.everybodyBuys())
  const [a, b] = cluster.of('worker')
  await until('some are placed', async () => (await placedBy(cluster)).some(count => count > 2))
  const [byA = 0, byB = 0] = await placedBy(cluster)
  const [sleeper, other] = byA > byB ? [a!, b!] : [b!, a!]
  sleeper.freeze()
  const asleep = await gauge(other.server(), 'stampede_kafka_records_total{what="placed"}').catch(() => 0)
  // The broker ends the session of the sleeper, and the item's partition is the other's.
  await until(
    'the other places in its stead',
    async () => (await gauge(other.server(), 'stampede_kafka_records_total{what="placed"}').catch(() => 0)) > asleep,
  )
  sleeper.wake()
  await stage.judge(await buying)
  await expectInOrder(cluster)
  await allCommitted(flow)
  const [twice] = await cluster.sql('SELECT count(*)::int AS orders, count(DISTINCT id)::int AS ids FROM orders')
  expect(twice!.orders).toBe(twice!.ids as number)
})

test('workers that leave and join in mid-batch, one after the other, cost no order and no second effect', async () => {
  const flow = await startKafkaCluster(playground, broker.brokers, {
    faultPoints: { worker: 'place.before=delay:50@*' },
  })
  const { cluster } = flow
  const stage = await Stage.set(cluster, { units: 60, buyers: 70, atATime: 8 })
  const buying = meanwhile(stage.everybodyBuys())
  for (const [i, worker] of cluster.of('worker').entries()) {
    await stage.shop.placed(15 * (i + 1))
    expect((await worker.server().stop()).code).toBe(0)
    await worker.startAgain('place.before=delay:50@*')
  }
  await stage.judge(await buying)
  await expectInOrder(cluster)
  await allCommitted(flow)
})

test('poison and oversized messages are dead letters on every road, what is behind them is placed, and one may be tried again while no order was born', async () => {
  const flow = await startKafkaCluster(playground, broker.brokers, { workers: 1 })
  const { cluster, topic } = flow
  const stage = await Stage.set(cluster, { units: 10, buyers: 12 })
  const { item } = stage
  const epoch = await stage.soldAtTheGate(120_000)
  const ask = (order: string, quantity: number) => [order, `poison-${order}`, 1, quantity, systemClock.now()]
  const message = (asks: readonly unknown[], more: Readonly<Record<string, unknown>> = {}) =>
    JSON.stringify({ v: 1, partition: item, epoch, entry: '1-1', asks, ...more })
  const unborn = message([ask('7310000000000001', 1)], { epoch: epoch + 1_000 })
  await withLog(flow, log =>
    log.sender.send(topic, [
      { key: item, value: 'no JSON' },
      { key: item, value: `"${'x'.repeat(1_010_000)}"` },
      // No column holds such a quantity: its order is born closed.
      { key: item, value: message([ask('7310000000000002', 2 ** 40)]) },
      // Of another key than its own: nothing was read from it, and no order was born.
      { key: `${item}#1`, value: unborn },
    ]),
  )
  await stage.judge(await stage.everybodyBuys())
  await until('four alarms', async () => (await alarmsOf(cluster, 'dead_letter')) === 4)

  const till = new Till(() => cluster.url())
  const { letters } = (await till.operator('GET', '/dead')) as unknown as DeadLettersAnswer
  const by = (why: RegExp) => letters.find(letter => why.test(letter.why))!
  expect(letters).toHaveLength(4)
  expect(by(/no JSON/)).toMatchObject({ item, retryable: false, born: [] })
  expect(by(/^10100\d\d bytes are more/)).toMatchObject({ item, retryable: false, born: [] })
  expect(by(/out of range/)).toMatchObject({ order: '7310000000000002', retryable: false, born: [{ state: 'closed' }] })
  const waiting = by(/key is not its partition/)
  expect(waiting).toMatchObject({ retryable: true, born: [] })

  const retry = (id: string) => till.operator('POST', `/dead/${id}/retry`)
  // Of an epoch that never was: an explicit refusal, its row, and no second try.
  expect(await retry(waiting.id)).toMatchObject({
    retryable: false,
    born: [{ id: '7310000000000001', state: 'closed' }],
  })
  for (const letter of letters) await expect(retry(letter.id)).rejects.toThrow('not_retryable')

  const copies = await withLog(flow, log => log.tail(`${topic}.dead`, 100))
  expect(copies.map(({ headers }) => headers.reason).toSorted()).toEqual(letters.map(({ why }) => why).toSorted())
  await cluster.quiet(stage.shop, stage.sale)
})

test('a message of a newer version is left for a newer worker, with an alarm, and what is behind it waits and is placed', async () => {
  const flow = await startKafkaCluster(playground, broker.brokers, { workers: 1 })
  const { cluster, topic, group } = flow
  const stage = await Stage.set(cluster, { units: 10, buyers: 12 })
  const newer = JSON.stringify({ v: 2, partition: stage.item, anything: true })
  await withLog(flow, log => log.sender.send(topic, [{ key: stage.item, value: newer }]))
  const outcomes = await stage.everybodyBuys(stage.tickets.slice(0, 5))
  await until('an alarm', async () => (await alarmsOf(cluster, 'newer_message')) > 0)
  const rows = async () => Number((await cluster.sql('SELECT count(*)::int AS count FROM orders'))[0]!.count)
  expect(await rows(), 'behind it nothing is placed').toBe(0)
  expect(await alarmsOf(cluster, 'dead_letter')).toBe(0)

  // The newer worker takes the older one's seat: it knows the message, and leaves the rest to whoever comes.
  const [worker] = cluster.of('worker')
  await worker!.server().stop()
  await withLog(flow, async log => {
    let handled = 0
    const member = log.join({
      ...{ group, topic, batchMax: () => 500, partitionsAtOnceMax: () => 1 },
      async handle(batch) {
        const first = batch.records[0]!
        if (JSON.parse(first.value).v === 2 && (await batch.commit(first.offset + 1n))) handled += 1
      },
    })
    await until('the newer worker has handled it', () => handled === 1)
    await member.stop()
  })
  await worker!.startAgain()
  outcomes.push(...(await stage.everybodyBuys(stage.tickets.slice(5))))
  await stage.judge(outcomes)
  await expectInOrder(cluster)
})
