/**
 * A log of messages outside this process: topics of partitions, each partition an ordered list of records with growing offsets. Records
 * with the same key are in the same partition, in the order they were sent. At least once: a record may be read again after a restart or
 * when the members of a group change, so that handling must be idempotent.
 *
 * A broker that does not answer is a Fault `kafka_away`, retryable. One that says no for good (credentials, rights, a topic that is gone) is
 * a Fault `kafka_refused`, which an operator must look at; trying again later is allowed all the same. A topic that does not fit is a Fault
 * `kafka_topic`.
 */

export interface LogMessage {
  /** Decides the partition. */
  readonly key: string
  readonly value: string
  readonly headers?: Readonly<Record<string, string>>
}

interface LogPosition {
  readonly partition: number
  readonly offset: bigint
}

export type SendReply = LogPosition | 'too_large'

export interface LogSender {
  /**
   * One reply per message, when all of them are stored on every in-sync replica. The order of the calls is the order in the partition;
   * calls may be made while others wait, and share requests. A Fault means that some or all may be stored, now or a little later; a call
   * made after the fault is never overtaken by what was sent before. Bounded: past `SENDS_WAITING_MAX` messages it is `kafka_away` at once.
   */
  send(topic: string, messages: readonly LogMessage[]): Promise<readonly SendReply[]>
}

export interface LogRecord extends LogPosition {
  readonly key: string | undefined
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
  /** When it was sent, by its sender's clock. */
  readonly sentMs: number
  /** Of key, value and headers. */
  readonly bytes: number
}

/** Records of one partition, oldest first, without gaps; at least one. */
export interface LogBatch {
  readonly partition: number
  readonly records: readonly LogRecord[]
  /** The offset after the partition's last record, as the broker told with these. */
  readonly end: bigint
  /** Aborted when this member no longer has the partition. What is begun may be finished. */
  readonly signal: AbortSignal
  /** Everything before this offset is done with. False: the partition is another member's by now, or may be; it will read from the last commit. */
  commit(nextOffset: bigint): Promise<boolean>
}

export interface LogGroupOptions {
  /** All members of a group read the same topic. */
  readonly group: string
  readonly topic: string
  /** Asked before each batch. */
  readonly batchMax: () => number
  /** How many partitions are handled side by side. Asked before each batch. */
  readonly partitionsAtOnceMax: () => number
  /**
   * One call at a time per partition. The next batch begins at the last commit: what was not committed is given again, after a growing
   * pause. A Fault does the same; another error is a bug, ends the membership and is thrown by `check`.
   */
  readonly handle: (batch: LogBatch) => Promise<void>
  /** The partitions this member has from now on: after each rebalance, before the first batch. */
  readonly assigned?: (partitions: readonly number[]) => void
}

/** A member of a group. It joins by itself and again after every fault, until it is stopped. */
export interface LogMember {
  /** Leaves the group, so that others have its partitions, and joins again after so long. */
  stayOut(forMs: number): void
  /** Has partitions and hears from the broker. */
  joined(): boolean
  /** What this member has, as far as it has read; no I/O. */
  standing(): readonly PartitionStanding[]
  /** Throws the bug that `handle` met. */
  check(): void
  /** Lets the batches under way finish, then leaves. */
  stop(): Promise<void>
}

export interface PartitionStanding {
  readonly partition: number
  /** Records after the last commit, by the end the broker told of last. */
  readonly behind: number
  /** When the oldest of them was sent, if it has been read. */
  readonly oldestSentMs: number | undefined
}

export interface PartitionProgress {
  readonly partition: number
  /** The first offset that is kept. */
  readonly start: bigint
  /** The offset after the last record, at a moment after the call. */
  readonly end: bigint
  /** Undefined: the group has committed nothing here, or what it had is no longer kept. */
  readonly committed: bigint | undefined
}

export interface TopicSpec {
  readonly name: string
  /** Of a topic that is created; one that is there may have more. */
  readonly partitions: number
  /** At least; -1: for good. */
  readonly retentionMs: number
  /** The largest record batch a broker must take, at least. */
  readonly messageBytesMax: number
}

export interface MessageLog {
  /**
   * Creates the topics that are missing and compares those that are there: partitions, replication, min.insync.replicas, cleanup policy,
   * retention, largest message. A topic that does not fit is a Fault `kafka_topic`: one line with what it is and what it must be.
   * Within 30 s, or it is `kafka_away`.
   */
  prepare(topics: readonly TopicSpec[]): Promise<void>
  readonly sender: LogSender
  join(options: LogGroupOptions): LogMember
  /** The partition of a key, as `prepare` has seen the topic. No I/O. */
  partitionOf(topic: string, key: string): number
  /** For those who are not in the group: a drain, the operator's page. By partition. A Fault within 2 s if the broker does not answer. */
  progress(topic: string, group: string): Promise<readonly PartitionProgress[]>
  /** The last records of a topic, oldest first, at most so many of each partition. For small topics. */
  tail(topic: string, max: number): Promise<readonly LogRecord[]>
  /** Does a broker answer, and does it accept the credentials? */
  ping(): Promise<void>
  /** Stops members and sender. What waits to be sent gets a moment. */
  close(): Promise<void>
}
