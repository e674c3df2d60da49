/**
 * Topics at start: a missing one is created, one that is there is compared with what Stampede needs of it. What is seen of them (partitions,
 * largest batch) is remembered for the life of the process: partitions that are added later are used after a restart.
 */

import { Admin, type BaseOptions, ConfigResourceTypes } from '@platformatic/kafka'
import type { Clock } from '../../base/clock.ts'
import { atMost } from '../../base/deadline.ts'
import { Fault } from '../../base/fault.ts'
import type { TopicSpec } from '../message-log.ts'
import { answerOf, asFault, type KafkaSettings } from './connection.ts'

const CALL_MS_MAX = 15_000
/** Of everything together. */
const PREPARE_MS_MAX = 30_000
const CLOSE_MS_MAX = 2_000
const SEEN_TRIES = 50
const SEEN_EVERY_MS = 100
const REPLICATION = 3
const EXISTS = new Set(['TOPIC_ALREADY_EXISTS'])

export interface KnownTopic {
  readonly partitions: number
  readonly batchBytesMax: number
}

export async function prepareTopics(
  clock: Clock,
  options: BaseOptions,
  settings: KafkaSettings,
  specs: readonly TopicSpec[],
): Promise<ReadonlyMap<string, KnownTopic>> {
  const admin = new Admin({ ...options, retries: 2, retryDelay: 200 })
  let over = false
  try {
    return await asFault(clock, 'the topics', PREPARE_MS_MAX, prepare)
  } finally {
    over = true
    await atMost(clock, CLOSE_MS_MAX, admin.close())
  }

  async function prepare(): Promise<ReadonlyMap<string, KnownTopic>> {
    const call = <T>(doing: string, ask: () => Promise<T>) => asFault(clock, doing, CALL_MS_MAX, ask)
    const { brokers } = await call('the list of brokers', () => admin.metadata({ topics: [], forceUpdate: true }))
    const replication = settings.replication ?? Math.min(REPLICATION, brokers.size)
    const minInsync = settings.minInsync ?? Math.max(1, replication - 1)
    const there = new Set(await call('the list of topics', () => admin.listTopics()))
    for (const spec of specs) {
      if (there.has(spec.name)) continue
      if (replication > brokers.size)
        throw misfit(spec.name, `KAFKA_REPLICATION is ${replication}, and there are ${brokers.size} brokers`)
      await create(spec, replication, minInsync)
    }
    const known = new Map<string, KnownTopic>()
    for (const spec of specs) known.set(spec.name, await compare(spec, replication, minInsync))
    return known

    async function create(spec: TopicSpec, replicas: number, insync: number): Promise<void> {
      const configs = Object.entries({
        'min.insync.replicas': insync,
        'cleanup.policy': 'delete',
        'retention.ms': spec.retentionMs,
        'max.message.bytes': spec.messageBytesMax,
      }).map(([name, value]) => ({ name, value: String(value) }))
      try {
        await admin.createTopics({ topics: [spec.name], partitions: spec.partitions, replicas, configs })
      } catch (error) {
        // Another process creates the same topics at its own start.
        if (answerOf(error, EXISTS) === undefined)
          await call(`topic ${spec.name} can't be created`, () => Promise.reject(error))
      }
    }

    async function compare(spec: TopicSpec, replicas: number, insync: number): Promise<KnownTopic> {
      const partitions = await seen(spec.name)
      const config = await configOf(spec.name)
      const is = {
        replication: Math.min(...partitions.map(one => one.replicas.length)),
        insync: Number(config.get('min.insync.replicas')),
        policy: config.get('cleanup.policy'),
        retentionMs: Number(config.get('retention.ms')),
        bytes: Number(config.get('max.message.bytes')),
      }
      const wrong: string[] = []
      if (partitions.length < spec.partitions)
        wrong.push(`has ${partitions.length} partitions and needs ${spec.partitions} (KAFKA_PARTITIONS)`)
      if (is.replication < replicas)
        wrong.push(`has ${is.replication} replicas and needs ${replicas} (KAFKA_REPLICATION)`)
      if (is.insync < insync) wrong.push(`has min.insync.replicas ${is.insync} and needs ${insync} (KAFKA_MIN_INSYNC)`)
      if (is.insync > is.replication)
        wrong.push(`has min.insync.replicas ${is.insync} and only ${is.replication} replicas: nothing can be written`)
      if (is.policy !== 'delete') wrong.push(`has cleanup.policy ${is.policy} and needs delete`)
      const keeps = is.retentionMs < 0 ? Number.POSITIVE_INFINITY : is.retentionMs
      const needs = spec.retentionMs < 0 ? Number.POSITIVE_INFINITY : spec.retentionMs
      if (keeps < needs) wrong.push(`has retention.ms ${is.retentionMs} and needs ${spec.retentionMs}`)
      if (is.bytes < spec.messageBytesMax)
        wrong.push(`has max.message.bytes ${is.bytes} and needs ${spec.messageBytesMax}`)
      if (wrong.length > 0) throw misfit(spec.name, wrong.join('; '))
      return { partitions: partitions.length, batchBytesMax: is.bytes }
    }

    /** A topic that was just created is not known at once, nor has it a leader. */
    async function seen(name: string) {
      for (let tried = 1; ; tried++) {
        try {
          const metadata = await admin.metadata({ topics: [name], forceUpdate: true })
          const partitions = metadata.topics.get(name)?.partitions ?? []
          if (partitions.length > 0 && partitions.every(one => one.leader >= 0)) return partitions
          if (tried >= SEEN_TRIES)
            throw new Fault('kafka_away', `topic ${name}: a partition has no leader`, { retryable: true })
        } catch (error) {
          if (tried >= SEEN_TRIES || over) return call(`topic ${name}`, () => Promise.reject(error))
        }
        await clock.sleep(SEEN_EVERY_MS)
      }
    }

    async function configOf(name: string): Promise<ReadonlyMap<string, string | null>> {
      const resources = [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: name }]
      const described = await call(`the settings of topic ${name}`, () => admin.describeConfigs({ resources }))
      return new Map(described[0]?.configs.map(one => [one.name, one.value ?? null]))
    }
  }
}

function misfit(topic: string, what: string): Fault {
  return new Fault('kafka_topic', `Kafka: the topic ${topic} does not fit: ${what}`)
}
