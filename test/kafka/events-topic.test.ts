/** The shop's events in Kafka's topic `stampede.events`: all of them, in order, through the death of the server and of the broker. */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { onFault } from '../../src/base/fault.ts'
import { openLog, settingsOf, topicSpec } from '../../src/kafka/client/kafka-log.fixture.ts'
import type { CloudEvent } from '../../src/wire/events/cloud-event.ts'
import { EventReader } from '../harness/event-reader.ts'
import { type KafkaBroker, startKafka } from '../harness/kafka.ts'
import { Playground } from '../harness/playground.ts'
import { Shop } from '../harness/shop.ts'
import { Stampede } from '../harness/stampede.ts'
import { until, within } from '../harness/until.ts'

const PARTITIONS = 3
/** As long as events are kept. */
const WEEK_MS = 7 * 86_400_000

const lasting = new Playground()
const playground = new Playground()
let broker: KafkaBroker

beforeAll(async () => {
  broker = await startKafka(lasting)
}, 300_000)
afterEach(() => playground.undo())
afterAll(() => lasting.undo())

/** What the topic holds of each subject, in its order. */
async function stored(prefix: string): Promise<ReadonlyMap<string, readonly CloudEvent[]>> {
  const topic = `${prefix}.events`
  const log = openLog(settingsOf(broker))
  try {
    await log.prepare([{ ...topicSpec(topic, PARTITIONS), retentionMs: WEEK_MS }])
    const records = await log.tail(topic, 10_000)
    for (const { headers } of records)
      expect(headers).toMatchObject({ 'content-type': 'application/cloudevents+json; charset=utf-8' })
    const events = records.map(({ key, value }) => {
      const event = JSON.parse(value) as CloudEvent
      expect(event.subject).toBe(key!)
      return event
    })
    return Map.groupBy(events, ({ subject }) => subject)
  } finally {
    await log.close()
  }
}

const envOf = (prefix: string) => ({
  KAFKA_BROKERS: broker.brokers,
  KAFKA_TOPIC_PREFIX: prefix,
  KAFKA_PARTITIONS: String(PARTITIONS),
  PUBLIC_URL: 'http://sale.example',
})

async function buyAll(shop: Shop, count: number, from: number): Promise<void> {
  const sale = await shop.openSale(-1_000, [{ units: count }])
  const item = sale.items[0]!.id
  for (let i = 0; i < count; i++) {
    const { answer } = await shop.order(await shop.ticket(`buyer-${from + i}`, sale.id, item), 1)
    expect(answer).toHaveProperty('order')
  }
}

/** Every event of the feed is in the topic, as it is in the feed, and of each subject in the order of the numbers. */
async function expectAll(prefix: string, reader: EventReader): Promise<number> {
  let repeated = 0
  await until('all events in the topic', async () => {
    const told = Map.groupBy(await reader.catchUp(), ({ subject }) => subject)
    // A broker that has just started may not lead all of its partitions yet.
    const seen = await onFault(() => stored(prefix))
    if (seen === undefined) return false
    repeated = 0
    for (const [subject, events] of told) {
      const ids = (seen.get(subject) ?? []).map(({ id }) => id)
      if (!events.every(({ id }) => ids.includes(id))) return false
      const firsts = (seen.get(subject) ?? []).filter(({ id }, index) => ids.indexOf(id) === index)
      expect(firsts).toEqual([...events])
      repeated += ids.length - firsts.length
    }
    return told.size > 0
  })
  return repeated
}

test('every event is copied once, and a server that dies after sending leaves none out', async () => {
  const dataDir = playground.dataDir()
  const first = await Stampede.start(playground, { dataDir, env: envOf('once') })
  const reader = new EventReader(() => server.url())
  let server = first
  await buyAll(new Shop(() => server.url()), 10, 0)
  expect(await expectAll('once', reader)).toBe(0)
  await first.stop()

  server = await Stampede.start(playground, { dataDir, env: envOf('once'), faultPoints: 'events.copied=kill@2' })
  const dying = server
  await buyAll(new Shop(() => dying.url()), 5, 100).catch(() => {})
  await within('its death', 120_000, dying.exited)
  server = await Stampede.start(playground, { dataDir, env: envOf('once') })
  await buyAll(new Shop(() => server.url()), 5, 200)
  await expectAll('once', reader)
}, 300_000)

test('while Kafka is away the server starts and sells, and the events follow when it is back', async () => {
  await broker.kill()
  const server = await Stampede.start(playground, { dataDir: playground.dataDir(), env: envOf('away') })
  await buyAll(new Shop(() => server.url()), 5, 0)
  await until('it says so', () => server.output().includes('Kafka is away; events wait in the ledger'))
  await broker.start()
  await expectAll('away', new EventReader(() => server.url()))
}, 300_000)

test('a topic that does not fit stops the start with one line', async () => {
  const log = openLog(settingsOf(broker))
  playground.onUndo(() => log.close())
  await log.prepare([topicSpec('narrow.events', 1)])
  const server = Stampede.spawn(playground, { dataDir: playground.dataDir(), env: envOf('narrow') })
  const { code } = await within('its end', 120_000, server.exited)
  expect(code).toBe(2)
  expect(server.output()).toContain(
    'Kafka: the topic narrow.events does not fit: has 1 partitions and needs 3 (KAFKA_PARTITIONS); has retention.ms 86400000 and needs 604800000',
  )
}, 300_000)
