/**
 * A cluster with Kafka in the middle: reservations go through a real broker, and any part may die. Every promise holds, everyone who asks
 * again is told of the order that stands, and each item's orders are placed in the order they were reserved.
 */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import { openLog, settingsOf } from '../../src/kafka/client/kafka-log.fixture.ts'
import { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { gauge } from '../harness/gauges.ts'
import { type KafkaBroker, startKafka } from '../harness/kafka.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { Stage } from './stage.ts'

const SOON_MS = 120_000
const TEST_MS_MAX = 300_000

const forFile = new Playground()
const playground = new Playground()
let broker: KafkaBroker
let prefixes = 0
beforeAll(async () => {
  broker = await startKafka(forFile)
}, TEST_MS_MAX)
afterEach(() => playground.undo())
afterAll(() => forFile.undo())

type Options = Parameters<typeof Cluster.start>[1]

async function startCluster(options: Options = {}) {
  prefixes += 1
  const prefix = `flow${prefixes}`
  const env = { KAFKA_BROKERS: broker.brokers, KAFKA_TOPIC_PREFIX: prefix, KAFKA_PARTITIONS: '3', ...options.env }
  const cluster = await Cluster.start(playground, { edges: 1, workers: 2, keepers: 1, ...options, env })
  return { cluster, topic: `${prefix}.reservations`, group: `${prefix}.reservations.workers` }
}

/** How many messages of the flow's topic were placed, and how many are there. */
async function progressOf({ topic, group }: { topic: string; group: string }) {
  const log = openLog(settingsOf(broker))
  try {
    await log.prepare([{ name: topic, partitions: 3, retentionMs: 86_400_000, messageBytesMax: 2 ** 20 }])
    const progress = await log.progress(topic, group)
    const sum = (figure: (one: (typeof progress)[number]) => bigint) =>
      Number(progress.reduce((all, one) => all + figure(one), 0n))
    return { sent: sum(one => one.end), placed: sum(one => one.committed ?? 0n) }
  } finally {
    await log.close()
  }
}

/** The rows of an item, in the order they were placed, are in the order they were reserved. */
async function expectInOrder(cluster: Cluster): Promise<void> {
  const rows = await cluster.sql(
    'SELECT item, reserved_at, placed_at, id FROM orders ORDER BY item, placed_at, reserved_at, id',
  )
  const times = rows.map(row => [String(row.item), new Date(String(row.reserved_at)).getTime()] as const)
  expect(times).toEqual(times.toSorted(([a, x], [b, y]) => (a === b ? x - y : 0)))
}

test(
  'orders go through the broker, in their order, and the outbox is emptied only by the ledger',
  async () => {
    const { cluster, ...names } = await startCluster()
    const stage = await Stage.set(cluster, { units: 60, buyers: 70 })
    await stage.judge(await stage.everybodyBuys())
    await expectInOrder(cluster)
    const { sent, placed } = await progressOf(names)
    expect(sent).toBeGreaterThan(0)
    await until('all of it committed', async () => (await progressOf(names)).placed >= sent, SOON_MS)
    expect(placed).toBeLessThanOrEqual(sent)
    const lag = () => Promise.all(cluster.of('worker').map(one => gauge(one.server(), 'stampede_kafka_lag_messages')))
    await until('no lag', async () => (await lag()).every(messages => messages === 0))
  },
  TEST_MS_MAX,
)

test(
  'workers killed after the send and before the cursor, after the deletion and before the offset: nothing lost, nothing twice',
  async () => {
    const { cluster } = await startCluster({
      faultPoints: { worker: 'relay.sent=kill@3,consume.deleted=kill@2' },
    })
    const stage = await Stage.set(cluster, { units: 60, buyers: 70 })
    const outcomes = await untilAll(stage.everybodyBuys(), cluster)
    expect(restarts, 'workers that died').toBeGreaterThan(0)
    await stage.judge(outcomes)
    await expectInOrder(cluster)
  },
  TEST_MS_MAX,
)

/** Whatever dies meanwhile is started again. */
let restarts = 0
async function untilAll<T>(work: Promise<T>, cluster: Cluster): Promise<T> {
  const state = { over: false }
  const watched = meanwhile(
    work.finally(() => {
      state.over = true
    }),
  )
  const startDead = async () => {
    for (const worker of cluster.of('worker').filter(one => !one.running())) {
      restarts += 1
      await worker.startAgain()
    }
  }
  while (!state.over) {
    await startDead()
    await Promise.race([watched.catch(() => {}), systemClock.sleep(100)])
  }
  await startDead()
  return watched
}

test(
  'the broker is killed under load and comes back: buyers are served from the outbox’s room, and all is placed',
  async () => {
    const { cluster } = await startCluster()
    const stage = await Stage.set(cluster, { units: 60, buyers: 70, atATime: 8 })
    const half = stage.tickets.length / 2
    const before = await stage.everybodyBuys(stage.tickets.slice(0, half))
    await broker.kill()
    const buying = meanwhile(stage.everybodyBuys(stage.tickets.slice(half)))
    const waiting = async () => {
      const [line] = await stage.shop.audit(stage.sale.id).catch(() => [])
      return (line?.outbox ?? 0) > 0
    }
    await until('entries that wait in the outbox', waiting, SOON_MS)
    await broker.start()
    const outcomes = [...before, ...(await buying)]
    await stage.judge(outcomes)
    await expectInOrder(cluster)
  },
  TEST_MS_MAX,
)

test(
  'Redis comes back empty while entries sit in Kafka: they are placed before the gate is built anew',
  async () => {
    // Members that place slowly: what was acknowledged sits in Kafka when Redis goes.
    const { cluster } = await startCluster({ workers: 1, faultPoints: { worker: 'place.before=delay:1500@*' } })
    const stage = await Stage.set(cluster, { units: 30, buyers: 30, atATime: 30 })
    const buying = meanwhile(stage.everybodyBuys())
    const [worker] = cluster.of('worker')
    const relayed = () => gauge(worker!.server(), 'stampede_kafka_records_total{what="relayed"}').catch(() => 0)
    await until('some in Kafka', async () => (await relayed()) > 0, SOON_MS)
    await cluster.redis.command('FLUSHALL')
    await stage.judge(await buying)
  },
  TEST_MS_MAX,
)
