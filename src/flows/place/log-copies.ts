/** Where the copies of an item's entries are in the log, and how far the group has placed them. */

import { together } from '../../base/batching/together.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { MessageLog, PartitionProgress } from '../../kafka/message-log.ts'
import type { EntryCopies } from '../keep/entry-copies.ts'

interface LogCopiesParts {
  readonly messages: Pick<MessageLog, 'progress' | 'partitionOf'>
  readonly topic: string
  readonly group: string
  readonly outbox: Pick<Outbox, 'partitions'>
}

/** Drains of many items share a question. */
const TOGETHER_MAX = 10_000

export function createLogCopies({ messages, topic, group, outbox }: LogCopiesParts): EntryCopies {
  const read = together<undefined, ReadonlyMap<number, PartitionProgress>>(TOGETHER_MAX, async asks => {
    const progress = new Map((await messages.progress(topic, group)).map(one => [one.partition, one]))
    return asks.map(() => progress)
  })
  return {
    async ends(item) {
      const numbers = new Set(outbox.partitions([item]).map(partition => messages.partitionOf(topic, partition)))
      const progress = await read(undefined)
      return new Map([...numbers].map(number => [number, progress.get(number)?.end ?? 0n]))
    },
    async unplaced(ends) {
      const progress = await read(undefined)
      let left = 0n
      for (const [number, end] of ends) {
        const now = progress.get(number)
        // What the topic does not keep any more can't be placed from it.
        const from = now === undefined ? end : maxOf(now.start, now.committed ?? now.start)
        if (from < end) left += end - from
      }
      return left
    },
  }
}

const maxOf = (a: bigint, b: bigint) => (a > b ? a : b)
