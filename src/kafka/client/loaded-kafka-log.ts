/** The message log on Apache Kafka, with the library in memory (`kafka-log.ts` loads it): opens what is asked for, and closes all of it. */

import { Admin, Consumer, FetchIsolationLevels, ListOffsetTimestamps } from '@platformatic/kafka'
import { Fault } from '../../base/fault.ts'
import type { LogMember, LogRecord, MessageLog, PartitionProgress } from '../message-log.ts'
import { asFault, baseOptions, type KafkaLimits, type KafkaPorts, type KafkaSettings } from './connection.ts'
import { joinGroup } from './member.ts'
import { PartitionReader } from './partition-reader.ts'
import { createSender, partitionOfKey, type Sender } from './sender.ts'
import { type KnownTopic, prepareTopics } from './topics.ts'

const REQUEST_MS_MAX = 10_000
const PROGRESS_MS_MAX = 2_000
const TAIL_MS_MAX = 10_000
const TAIL_BYTES_MAX = 8 * 2 ** 20
const CLIENT = 'stampede'

export function createMessageLog(settings: KafkaSettings, ports: KafkaPorts, limits: KafkaLimits): MessageLog {
  const { clock } = ports
  const options = baseOptions(settings, CLIENT, REQUEST_MS_MAX)
  const known = new Map<string, KnownTopic>()
  const members = new Set<LogMember>()
  let sender: Sender | undefined
  let asker: Admin | undefined

  function topicOf(name: string): KnownTopic {
    const topic = known.get(name)
    if (topic === undefined) throw new Fault('kafka_away', `topic ${name} was not prepared`, { retryable: true })
    return topic
  }

  function admin(): Admin {
    asker ??= new Admin({ ...baseOptions(settings, CLIENT, PROGRESS_MS_MAX), retries: 0 })
    return asker
  }

  async function offsets(topic: string, timestamp: bigint): Promise<readonly bigint[]> {
    const partitions = Array.from({ length: topicOf(topic).partitions }, (_, partitionIndex) => ({
      partitionIndex,
      timestamp,
    }))
    const listed = await admin().listOffsets({ topics: [{ name: topic, partitions }] })
    const found = new Map(listed[0]?.partitions.map(one => [one.partitionIndex, one.offset]))
    return partitions.map(one => found.get(one.partitionIndex) ?? 0n)
  }

  async function readTail(reader: Consumer, topic: string, max: number): Promise<readonly LogRecord[]> {
    const [starts, ends] = [
      await offsets(topic, ListOffsetTimestamps.EARLIEST),
      await offsets(topic, ListOffsetTimestamps.LATEST),
    ]
    const metadata = await reader.metadata({ topics: [topic] })
    const seen = metadata.topics.get(topic)
    const records: LogRecord[] = []
    for (const [partition, end] of ends.entries()) {
      const start = starts[partition] ?? 0n
      const from = end - BigInt(max) > start ? end - BigInt(max) : start
      const held = new PartitionReader(partition, from)
      while (held.next < end && seen !== undefined) {
        const before = held.next
        const asked = { partition, currentLeaderEpoch: -1, fetchOffset: before, lastFetchedEpoch: -1 }
        const { responses } = await reader.fetch({
          node: seen.partitions[partition]?.leader ?? -1,
          topics: [{ topicId: seen.id, partitions: [{ ...asked, partitionMaxBytes: TAIL_BYTES_MAX }] }],
          maxWaitTime: PROGRESS_MS_MAX,
          maxBytes: TAIL_BYTES_MAX,
          isolationLevel: FetchIsolationLevels.READ_COMMITTED,
        })
        for (const fetched of responses[0]?.partitions ?? []) held.add(fetched)
        if (held.next === before) break
        records.push(...held.batch(max))
        held.commit(held.next)
      }
    }
    return records
  }

  return {
    async prepare(topics) {
      for (const [name, topic] of await prepareTopics(clock, options, settings, topics)) known.set(name, topic)
    },
    sender: {
      send(topic, messages) {
        sender ??= createSender(clock, options, topicOf, limits.sendMsMax)
        return sender.send(topic, messages)
      },
    },
    join(group) {
      const member = joinGroup({ ...ports, options }, group)
      members.add(member)
      return member
    },
    partitionOf: (topic, key) => partitionOfKey(key, topicOf(topic).partitions),
    progress(topic, group) {
      return asFault(clock, `the progress of ${group}`, PROGRESS_MS_MAX, async () => {
        // Commits are read before the end: what is told as consumed was there.
        const groups = await admin().listConsumerGroupOffsets({ groups: [group] })
        const committed = new Map(
          groups[0]?.topics
            .find(one => one.name === topic)
            ?.partitions.map(one => [one.partitionIndex, one.committedOffset]),
        )
        const [starts, ends] = await Promise.all([
          offsets(topic, ListOffsetTimestamps.EARLIEST),
          offsets(topic, ListOffsetTimestamps.LATEST),
        ])
        return ends.map((end, partition): PartitionProgress => {
          const at = committed.get(partition) ?? -1n
          // A commit beyond the end was made in a log that has become shorter since: none of what is there now was read.
          return { partition, start: starts[partition] ?? 0n, end, committed: at < 0n || at > end ? undefined : at }
        })
      })
    },
    async tail(topic, max) {
      const reader = new Consumer({ ...options, groupId: `${CLIENT}-tail`, retries: 0 })
      reader.topics.trackAll(topic)
      try {
        return await asFault(clock, `the last messages of ${topic}`, TAIL_MS_MAX, () => readTail(reader, topic, max))
      } finally {
        await reader.close(true)
      }
    },
    async ping() {
      await asFault(clock, 'a call to Kafka', PROGRESS_MS_MAX, () =>
        admin().metadata({ topics: [], forceUpdate: true }),
      )
    },
    async close() {
      await Promise.all([...members].map(member => member.stop()))
      await sender?.close()
      await asker?.close()
    },
  }
}
