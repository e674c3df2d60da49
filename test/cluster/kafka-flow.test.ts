/**
 * A cluster with Kafka in the middle: reservations go through a real broker, and any part may die. Every promise holds, everyone who asks
 * again is told of the order that stands, and each item's orders are placed in the order they were reserved.
 */

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { systemClock } from '../../src/base/clock.ts'
import type { Cluster } from '../harness/cluster.ts'
import { meanwhile } from '../harness/crowd.ts'
import { gauge } from '../harness/gauges.ts'
import { type KafkaBroker, startKafka } from '../harness/kafka.ts'
import { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'
import { expectInOrder, progressOf, startKafkaCluster } from './kafka-cluster.ts'
import { Stage } from './stage.ts'

const SOON_MS = 120_000
const TEST_MS_MAX = 300_000

const forFile = new Playground()
const playground = new Playground()
let broker: KafkaBroker
beforeAll(async () => {
  broker = await startKafka(forFile)
}, TEST_MS_MAX)
afterEach(() => playground.undo())
afterAll(() => forFile.undo())

const startCluster = (options: Parameters<typeof startKafkaCluster>[2] = {}) =>
  startKafkaCluster(playground, broker.brokers, options)

test(
  'orders go through the broker, in their order, and the outbox is emptied only by the ledger',
  async () => {
    const flow = await startCluster()
    const { cluster } = flow
    const stage = await Stage.set(cluster, { units: 60, buyers: 70 })
    await stage.judge(await stage.everybodyBuys())
    await expectInOrder(cluster)
    const { sent, placed } = await progressOf(flow)
    expect(sent).toBeGreaterThan(0)
    await until('all of it committed', async () => (await progressOf(flow)).placed >= sent, SOON_MS)
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
