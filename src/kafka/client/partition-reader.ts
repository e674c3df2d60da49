/**
 * What a member holds of one partition: records that were fetched and are not committed, oldest first, and where to fetch next. Bounded: a
 * full one is not fetched. It does no I/O.
 *
 *   reading → lost (the partition is another member's, or the member starts anew from the last commit)
 */

import { type Consumer, IS_CONTROL } from '@platformatic/kafka'
import type { LogRecord, PartitionStanding } from '../message-log.ts'

type FetchedPartition = Awaited<ReturnType<Consumer['fetch']>>['responses'][number]['partitions'][number]

const HELD_BYTES_MAX = 4 * 2 ** 20
const BATCH_BYTES_MAX = 4 * 2 ** 20

export class PartitionReader {
  readonly partition: number
  /** Aborted when the partition is lost. */
  readonly lost = new AbortController()
  /** The call of `handle` under way, never rejects. */
  handling: Promise<void> | undefined
  failures = 0
  /** No batch before this moment of the clock. */
  pausedUntilMs = 0
  #records: LogRecord[] = []
  #bytes = 0
  #committed: bigint
  #next: bigint
  #end: bigint

  constructor(partition: number, from: bigint) {
    this.partition = partition
    this.#committed = from
    this.#next = from
    this.#end = from
  }

  get committed(): bigint {
    return this.#committed
  }

  get next(): bigint {
    return this.#next
  }

  get end(): bigint {
    return this.#end
  }

  get full(): boolean {
    return this.#bytes >= HELD_BYTES_MAX
  }

  get holds(): boolean {
    return this.#records.length > 0
  }

  add(fetched: FetchedPartition): void {
    this.#end = fetched.highWatermark
    for (const batch of fetched.records ?? []) {
      for (const { offsetDelta, timestampDelta, key, value, headers } of batch.records) {
        const offset = batch.firstOffset + BigInt(offsetDelta)
        // A batch is sent whole, also when it is asked for from its middle.
        if (offset < this.#next || (batch.attributes & IS_CONTROL) !== 0) continue
        let bytes = (key?.length ?? 0) + (value?.length ?? 0)
        for (const [name, text] of headers) bytes += (name?.length ?? 0) + (text?.length ?? 0)
        this.#bytes += bytes
        this.#records.push({
          partition: this.partition,
          offset,
          key: key?.toString(),
          value: value?.toString() ?? '',
          headers: Object.fromEntries(headers.map(([name, text]) => [String(name), text?.toString() ?? ''])),
          sentMs: Number(batch.firstTimestamp + timestampDelta),
          bytes,
        })
      }
      const after = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n
      if (after > this.#next) this.#next = after
    }
  }

  /** The oldest records; they stay until they are committed. */
  batch(max: number): readonly LogRecord[] {
    let bytes = 0
    const end = this.#records.findIndex((record, index) => {
      bytes += record.bytes
      return index >= max || (index > 0 && bytes > BATCH_BYTES_MAX)
    })
    return this.#records.slice(0, end < 0 ? this.#records.length : end)
  }

  commit(nextOffset: bigint): void {
    if (nextOffset <= this.#committed) return
    this.#committed = nextOffset
    const kept = this.#records.findIndex(record => record.offset >= nextOffset)
    for (const record of this.#records.splice(0, kept < 0 ? this.#records.length : kept)) this.#bytes -= record.bytes
  }

  standing(): PartitionStanding {
    const { partition } = this
    return {
      partition,
      behind: Math.max(0, Number(this.#end - this.#committed)),
      oldestSentMs: this.#records[0]?.sentMs,
    }
  }
}
