/** A cluster with Kafka in the middle, topics of its own on a broker that a test file shares, and what a test reads and changes there. */

import { expect } from 'bun:test'
import { Admin } from '@platformatic/kafka'
import { openLog, settingsOf } from '../../src/kafka/client/kafka-log.fixture.ts'
import type { MessageLog } from '../../src/kafka/message-log.ts'
import { Cluster } from '../harness/cluster.ts'
import { gauge } from '../harness/gauges.ts'
import type { Playground } from '../harness/playground.ts'
import { until } from '../harness/until.ts'

const PARTITIONS = 3
const DAY_MS = 86_400_000

type Options = NonNullable<Parameters<typeof Cluster.start>[1]>

let prefixes = 0

interface KafkaCluster {
  readonly cluster: Cluster
  readonly brokers: string
  readonly topic: string
  readonly group: string
}

export async function startKafkaCluster(
  playground: Playground,
  brokers: string,
  options: Options = {},
): Promise<KafkaCluster> {
  prefixes += 1
  const prefix = `flow${prefixes}`
  const kafka = { KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: prefix, KAFKA_PARTITIONS: String(PARTITIONS) }
  const env = { ...kafka, ...options.env }
  const cluster = await Cluster.start(playground, { edges: 1, workers: 2, keepers: 1, ...options, env })
  return { cluster, brokers, topic: `${prefix}.reservations`, group: `${prefix}.reservations.workers` }
}

/** The flow's topics, past every process of the cluster. */
export async function withLog<T>(
  { brokers, topic }: Pick<KafkaCluster, 'brokers' | 'topic'>,
  use: (log: MessageLog) => Promise<T>,
): Promise<T> {
  const log = openLog({ ...settingsOf({ brokers }), brokers: brokers.split(',') })
  try {
    const spec = (name: string, partitions: number) => ({
      ...{ name, partitions },
      retentionMs: DAY_MS,
      messageBytesMax: 2 ** 20,
    })
    await log.prepare([spec(topic, PARTITIONS), spec(`${topic}.dead`, 1)])
    return await use(log)
  } finally {
    await log.close()
  }
}

/** How many messages of the flow's topic were placed, and how many are there. */
export function progressOf(flow: KafkaCluster): Promise<{ sent: number; placed: number }> {
  return withLog(flow, async log => {
    const progress = await log.progress(flow.topic, flow.group)
    const sum = (figure: (one: (typeof progress)[number]) => bigint) =>
      Number(progress.reduce((all, one) => all + figure(one), 0n))
    return { sent: sum(one => one.end), placed: sum(one => one.committed ?? 0n) }
  })
}

export async function allCommitted(flow: KafkaCluster): Promise<void> {
  await until('all messages committed', async () => {
    const { sent, placed } = await progressOf(flow)
    return sent > 0 && placed >= sent
  })
}

/** As an operator sets a group's offsets: only while it has no member. */
export async function setReaders(
  { brokers, topic, group }: KafkaCluster,
  offset: (partition: number) => bigint,
): Promise<void> {
  const admin = new Admin({ clientId: 'operator', bootstrapBrokers: brokers.split(','), retries: 0 })
  const partitionOffsets = Array.from({ length: PARTITIONS }, (_, partition) => ({
    partition,
    offset: offset(partition),
  }))
  try {
    // Members that were stopped have left; the session of one that was killed has to end first.
    await until('the group takes its offsets', () =>
      admin.alterConsumerGroupOffsets({ groupId: group, topics: [{ name: topic, partitionOffsets }] }).then(
        () => true,
        () => false,
      ),
    )
  } finally {
    await admin.close()
  }
}

/** How often an alarm was raised by the workers. */
export async function alarmsOf(cluster: Cluster, kind: string): Promise<number> {
  const series = `stampede_alarms_total{kind="${kind}"}`
  const counts = await Promise.all(cluster.of('worker').map(one => gauge(one.server(), series).catch(() => 0)))
  return counts.reduce((sum, one) => sum + one, 0)
}

/** The rows of an item, in the order they were placed, are in the order they were reserved. */
export async function expectInOrder(cluster: Cluster): Promise<void> {
  const rows = await cluster.sql(
    'SELECT item, reserved_at, placed_at, id FROM orders ORDER BY item, placed_at, reserved_at, id',
  )
  const times = rows.map(row => [String(row.item), new Date(String(row.reserved_at)).getTime()] as const)
  expect(times).toEqual(times.toSorted(([a, x], [b, y]) => (a === b ? x - y : 0)))
}
