/**
 * One membership in a group, from joining until it ends: heartbeats, rebalances, the partitions, fetching. It ends with a fault that the
 * library can't get over by itself; the member then begins a new one (`member.ts`).
 *
 * A rebalance asks all members to join again. Before this one does, the batches under way get a moment to be finished and committed, so
 * that they are not read again by others. After it, every partition begins at the group's last commit; one that this member keeps, and
 * whose commits are its own, goes on with what it holds.
 *
 * The library retries nothing here, on purpose: it would commit again under a new generation, when the partition may be another member's.
 * Fetching has a client of its own: a broker answers the calls of a connection in turn, and a fetch waits for messages.
 */

import { type BaseOptions, Consumer, FetchIsolationLevels, ListOffsetTimestamps } from '@platformatic/kafka'
import type { Clock } from '../../base/clock.ts'
import { atMost } from '../../base/deadline.ts'
import type { Log } from '../../base/log.ts'
import type { OutageLog } from '../../base/outage-log.ts'
import { answerBeside, answerOf, asFault, kafkaFault, needsRejoin } from './connection.ts'
import { PartitionReader } from './partition-reader.ts'

const SESSION_MS = 10_000
const REBALANCE_MS_MAX = 20_000
const HEARTBEAT_MS = 1_000
/** Less than a session lasts: no heartbeat is sent meanwhile. */
const SETTLE_MS_MAX = 4_000
const CALL_MS_MAX = 10_000
const CLOSE_MS_MAX = 3_000
const FETCH_WAIT_MS = 500
/** While a partition is full, the others are asked about for a moment only: it may have room soon. */
const FETCH_WAIT_BRIEF_MS = 20
const FETCH_BYTES_MAX = 8 * 2 ** 20
const FETCH_PARTITION_BYTES_MAX = 2 ** 20
const FETCH_PAUSE_MS = 200
const OUT_OF_RANGE = new Set(['OFFSET_OUT_OF_RANGE'])

type Fetched = Awaited<ReturnType<Consumer['fetch']>>

interface MembershipParts {
  readonly clock: Clock
  readonly log: Log
  readonly options: BaseOptions
  readonly group: string
  readonly topic: string
  /** Records have come, or partitions have changed. */
  readonly changed: () => void
  readonly assigned: (partitions: readonly number[]) => void
  /** Hears of fetches that fail and succeed. */
  readonly fetching: OutageLog
}

export class Membership {
  readonly readers = new Map<number, PartitionReader>()
  readonly #parts: MembershipParts
  readonly #client: Consumer
  readonly #fetcher: Consumer
  readonly #over = Promise.withResolvers<never>()
  /** Brokers that are being asked for records. */
  readonly #asked = new Set<number>()
  /** No batch is begun: partitions are about to change hands. */
  settling = true
  #closed = false
  #fetchFailed = false

  constructor(parts: MembershipParts) {
    this.#parts = parts
    const { options, group: groupId, topic } = parts
    const protocolsMetadata = () => this.#settle()
    this.#client = new Consumer({
      ...options,
      groupId,
      retries: 0,
      sessionTimeout: SESSION_MS,
      rebalanceTimeout: REBALANCE_MS_MAX,
      heartbeatInterval: HEARTBEAT_MS,
      autocommit: false,
      protocolsMetadata,
    })
    this.#fetcher = new Consumer({ ...options, groupId, retries: 0, autocommit: false })
    for (const client of [this.#client, this.#fetcher]) client.topics.trackAll(topic)
    this.#over.promise.catch(() => {})
    this.#client.on('error', error => this.#over.reject(error))
    this.#fetcher.on('error', error => this.#over.reject(error))
    this.#client.on('consumer:group:join', () => void this.#take().catch(this.#over.reject))
  }

  /** Joins, and rejects with what ends the membership. */
  async run(): Promise<never> {
    const join = () => this.#client.joinGroup({})
    await asFault(this.#parts.clock, 'joining the group', REBALANCE_MS_MAX + CALL_MS_MAX, join)
    return this.#over.promise
  }

  get joined(): boolean {
    return !this.#closed && !this.settling && this.#client.isActive() && !this.#fetchFailed
  }

  /** False: not committed, the partition is another member's or may be. */
  async commit(reader: PartitionReader, nextOffset: bigint): Promise<boolean> {
    if (reader.lost.signal.aborted || this.#closed) return false
    const { clock, topic } = this.#parts
    const { partition } = reader
    try {
      await asFault(clock, 'committing an offset', CALL_MS_MAX, () =>
        this.#client.commit({ offsets: [{ topic, partition, offset: nextOffset, leaderEpoch: -1 }] }),
      )
    } catch (error) {
      if (needsRejoin((error as Error).cause)) return false
      throw error
    }
    if (reader.lost.signal.aborted) return false
    reader.commit(nextOffset)
    this.fetch()
    return true
  }

  /** Asks every broker that has partitions with room and is not being asked. */
  fetch(): void {
    if (this.#closed || this.readers.size === 0) return
    void this.#fetchAll().catch(this.#over.reject)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const reader of this.readers.values()) reader.lost.abort()
    const { clock } = this.#parts
    await Promise.all([
      atMost(
        clock,
        CLOSE_MS_MAX,
        this.#client.close(true).catch(() => {}),
      ),
      atMost(
        clock,
        CLOSE_MS_MAX,
        this.#fetcher.close(true).catch(() => {}),
      ),
    ])
  }

  /** Called before each join. */
  async #settle(): Promise<Buffer> {
    this.settling = true
    const under = [...this.readers.values()].flatMap(reader => reader.handling ?? [])
    await atMost(this.#parts.clock, SETTLE_MS_MAX, Promise.all(under))
    return Buffer.alloc(0)
  }

  /** The partitions of a new generation. */
  async #take(): Promise<void> {
    const { topic, log } = this.#parts
    const { generationId } = this.#client
    const partitions = this.#client.assignments?.find(one => one.topic === topic)?.partitions ?? []
    for (const [partition, reader] of this.readers) if (!partitions.includes(partition)) this.#lose(reader)
    const from = await this.#positions(partitions)
    // Another rebalance came meanwhile: its own call follows.
    if (this.#closed || generationId !== this.#client.generationId) return
    for (const [partition, offset] of from) {
      const known = this.readers.get(partition)
      if (known?.committed === offset) continue
      if (known !== undefined) this.#lose(known)
      const reader = new PartitionReader(partition, offset)
      // One call of `handle` at a time, also across members' generations.
      reader.handling = known?.handling
      this.readers.set(partition, reader)
    }
    log.info(
      { event: 'partitions_assigned', topic, partitions: [...partitions].sort((a, b) => a - b) },
      'partitions assigned',
    )
    this.#parts.assigned(partitions)
    this.settling = false
    this.#parts.changed()
    this.fetch()
  }

  #lose(reader: PartitionReader): void {
    reader.lost.abort()
    this.readers.delete(reader.partition)
  }

  /** Of each partition the group's last commit; its first record where there is none. */
  async #positions(partitions: readonly number[]): Promise<ReadonlyMap<number, bigint>> {
    if (partitions.length === 0) return new Map()
    const { clock, topic } = this.#parts
    const topics = [{ topic, partitions: [...partitions] }]
    const call = <T>(doing: string, ask: () => Promise<T>) => asFault(clock, doing, CALL_MS_MAX, ask)
    const committed = (await call('reading offsets', () => this.#client.listCommittedOffsets({ topics }))).get(topic)
    const isSet = (partition: number) => (committed?.[partition] ?? -1n) >= 0n
    const starts = partitions.every(isSet) ? [] : await this.#offsets(ListOffsetTimestamps.EARLIEST)
    return new Map(partitions.map(one => [one, (isSet(one) ? committed?.[one] : starts[one]) ?? 0n]))
  }

  /** The first or the last of each partition. */
  async #offsets(timestamp: bigint): Promise<readonly bigint[]> {
    const { clock, topic } = this.#parts
    const ask = () => this.#fetcher.listOffsets({ topics: [topic], timestamp })
    return (await asFault(clock, 'reading offsets of the log', CALL_MS_MAX, ask)).get(topic) ?? []
  }

  async #fetchAll(): Promise<void> {
    const { topic } = this.#parts
    let metadata: Awaited<ReturnType<Consumer['metadata']>>
    try {
      metadata = await this.#fetcher.metadata({ topics: [topic] })
    } catch (error) {
      this.#fetchFails(error)
      return this.#fetchLater()
    }
    const known = metadata.topics.get(topic)
    if (known === undefined) return this.#fetchLater()
    const byNode = Map.groupBy(this.readers.values(), reader => known.partitions[reader.partition]?.leader ?? -1)
    for (const [node, readers] of byNode) {
      const wanted = readers.filter(reader => !reader.full)
      if (this.#closed || this.#asked.has(node) || wanted.length === 0) continue
      if (node < 0) await this.#fetchLater()
      else void this.#fetchFrom(node, known.id, wanted, wanted.length === readers.length).catch(this.#over.reject)
    }
  }

  async #fetchFrom(node: number, topicId: string, wanted: readonly PartitionReader[], all: boolean): Promise<void> {
    this.#asked.add(node)
    let failed = false
    try {
      const partitions = wanted.map(reader => ({
        partition: reader.partition,
        currentLeaderEpoch: -1,
        fetchOffset: reader.next,
        lastFetchedEpoch: -1,
        partitionMaxBytes: FETCH_PARTITION_BYTES_MAX,
      }))
      const response = await this.#fetcher.fetch({
        node,
        topics: [{ topicId, partitions }],
        maxWaitTime: all ? FETCH_WAIT_MS : FETCH_WAIT_BRIEF_MS,
        minBytes: 1,
        maxBytes: FETCH_BYTES_MAX,
        isolationLevel: FetchIsolationLevels.READ_COMMITTED,
      })
      this.#add(response, wanted)
      this.#fetchFailed = false
      this.#parts.fetching.worked()
    } catch (error) {
      failed = true
      // One partition that can't be read holds up no other of its broker.
      this.#add(answerBeside(error) as Partial<Fetched> | undefined, wanted)
      await this.#fetchBroke(error)
    } finally {
      this.#asked.delete(node)
    }
    if (failed) await this.#fetchLater()
    else this.fetch()
  }

  #add(response: Partial<Fetched> | undefined, wanted: readonly PartitionReader[]): void {
    for (const fetched of response?.responses?.flatMap(({ partitions }) => partitions) ?? []) {
      if (fetched.errorCode !== 0) continue
      const reader = wanted.find(one => one.partition === fetched.partitionIndex)
      // Lost meanwhile: its records are another reader's.
      if (reader !== undefined && this.readers.get(reader.partition) === reader) reader.add(fetched)
    }
    this.#parts.changed()
  }

  #fetchFails(error: unknown): void {
    this.#fetchFailed = true
    if (!this.#closed) this.#parts.fetching.failed(kafkaFault('messages were not fetched', error))
  }

  /** A broker that is away is asked again; the heartbeat decides about the membership. */
  async #fetchBroke(error: unknown): Promise<void> {
    if (this.#closed) return
    this.#fetchFails(error)
    if (answerOf(error, OUT_OF_RANGE) === undefined) return
    // Records were removed before they were read, or the log's end was lost: it goes on with the first that is there.
    const both = [this.#offsets(ListOffsetTimestamps.EARLIEST), this.#offsets(ListOffsetTimestamps.LATEST)]
    const [starts = [], ends = []] = await Promise.all(both).catch(() => [])
    for (const reader of this.readers.values()) {
      const [start, end] = [starts[reader.partition], ends[reader.partition]]
      if (start === undefined || end === undefined || (reader.next >= start && reader.next <= end)) continue
      const { topic, log } = this.#parts
      log.error(
        { event: 'offsets_gone', topic, partition: reader.partition, from: reader.next, to: start },
        'offsets are gone; reading on',
      )
      const next = new PartitionReader(reader.partition, start)
      next.handling = reader.handling
      this.#lose(reader)
      this.readers.set(next.partition, next)
    }
  }

  async #fetchLater(): Promise<void> {
    if (this.#closed) return
    await this.#parts.clock.sleep(FETCH_PAUSE_MS)
    this.fetch()
  }
}
