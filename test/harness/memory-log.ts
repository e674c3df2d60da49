/**
 * A message log in memory, for tests of the flows that write and read it: partitions, offsets and commits as the contract has them. It can be
 * away, it can lose what it has, and a test reads from it as any number of members would.
 */

import { Fault } from '../../src/base/fault.ts'
import type { LogBatch, LogRecord, MessageLog, SendReply } from '../../src/kafka/message-log.ts'

export type MemoryLog = ReturnType<typeof createMemoryLog>

const RECORDS_MAX = 500

export function createMemoryLog(partitions = 1, bytesMax = 1_000_000) {
  const topics = new Map<string, LogRecord[][]>()
  const committed = new Map<string, bigint>()
  const starts = new Map<string, bigint>()
  const state = { away: false }

  const reach = () => {
    if (state.away) throw new Fault('kafka_away', 'the log does not answer', { retryable: true })
  }
  const partitionOf = (_: string, key: string) => [...key].reduce((sum, c) => sum + c.charCodeAt(0), 0) % partitions
  function listsOf(topic: string): LogRecord[][] {
    const lists = topics.get(topic) ?? Array.from({ length: partitions }, () => [])
    topics.set(topic, lists)
    return lists
  }
  const nameOf = (topic: string, partition: number) => `${topic} ${partition}`

  const log: Pick<MessageLog, 'sender' | 'partitionOf' | 'progress'> = {
    sender: {
      async send(topic, messages) {
        reach()
        return messages.map((message): SendReply => {
          const partition = partitionOf(topic, message.key)
          const list = listsOf(topic)[partition]!
          const bytes = Buffer.byteLength(message.value) + message.key.length
          if (bytes > bytesMax) return 'too_large'
          const offset = BigInt(list.length)
          list.push({ headers: {}, ...message, partition, offset, bytes, sentMs: 0 })
          return { partition, offset }
        })
      },
    },
    partitionOf,
    async progress(topic) {
      reach()
      return listsOf(topic).map((list, partition) => ({
        partition,
        start: starts.get(nameOf(topic, partition)) ?? 0n,
        end: BigInt(list.length),
        committed: committed.get(nameOf(topic, partition)),
      }))
    },
  }

  return {
    ...log,
    state,
    values: (topic: string) => listsOf(topic).flatMap(list => list.map(record => JSON.parse(record.value))),
    /** As if another program wrote it. */
    put(topic: string, key: string, value: string): void {
      const partition = partitionOf(topic, key)
      const list = listsOf(topic)[partition]!
      const offset = BigInt(list.length)
      list.push({ partition, offset, key, value, headers: {}, sentMs: 0, bytes: Buffer.byteLength(value) })
    },
    /** What a member gets: everything after the last commit, or from an offset on. Undefined: nothing. */
    batch(topic: string, options: { from?: bigint; partition?: number; lost?: boolean } = {}): LogBatch | undefined {
      const { partition = 0, lost = false } = options
      const list = listsOf(topic)[partition]!
      const from = options.from ?? committed.get(nameOf(topic, partition)) ?? 0n
      const records = list.slice(Number(from), Number(from) + RECORDS_MAX)
      if (records.length === 0) return undefined
      return {
        partition,
        records,
        end: BigInt(list.length),
        signal: new AbortController().signal,
        async commit(next) {
          if (lost) return false
          committed.set(nameOf(topic, partition), next)
          return true
        },
      }
    },
    committed: (topic: string, partition = 0) => committed.get(nameOf(topic, partition)),
    /** The readers are set to this offset from outside. */
    setCommitted: (topic: string, offset: bigint, partition = 0) =>
      void committed.set(nameOf(topic, partition), offset),
    /** The topic is made anew. */
    empty(topic: string): void {
      topics.delete(topic)
      for (let i = 0; i < partitions; i++) committed.delete(nameOf(topic, i))
    },
  }
}
