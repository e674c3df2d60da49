/**
 * A member of the group that places reservations from the log: copies of outbox entries become order rows through the same function as
 * straight from the outbox (`place-entries.ts`), in the order they have in their partition of the log.
 *
 *   1 place   entries of an item and epoch in one transaction, as acknowledged (E5). Read again later: the same ids, no second effect
 *   2 release what was refused; 3 publish the orders
 *   4 delete  the entries from the outbox, after the COMMIT and never before. Dies before: read again, placed again
 *   5 commit  the offset. Dies before: read again. Another member has the partition by then: it reads again from the last commit
 *
 * A gate that does not answer in steps 2 and 4 does not hold up the log: what is committed in the ledger is committed, and the copies may be
 * all that is left of a lost gate. The entries that stay in the outbox are copied again (`find-stranded.ts`), or placed straight by a rebuild.
 *
 * A message that can't be read is stored as a dead letter. One of a newer version stays where it is: this member lets go of the partition
 * now and then, so that a newer one may get it. A message of an item that the ledger has deleted (an old one, read again) is passed over.
 */

import { eachOf } from '../../base/each-of.ts'
import { Fault, onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Alarm } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Channel } from '../../gate/channel.ts'
import type { Outbox, OutboxEntry, Partition } from '../../gate/outbox.ts'
import { isShardId } from '../../gate/shard-ids.ts'
import type { LogBatch, LogRecord } from '../../kafka/message-log.ts'
import { type EntryMessage, readEntryMessage } from './entry-message.ts'
import type { Pace } from './pace.ts'
import { type AcknowledgedContext, bury } from './place-acknowledged.ts'
import { placeEntries } from './place-entries.ts'

interface RecordContext extends AcknowledgedContext {
  readonly outbox: Pick<Outbox, 'itemOf' | 'release' | 'done'>
  readonly channel: Pick<Channel, 'publish'>
  readonly pace: Pace
  /** Is there such an item in the ledger? */
  readonly exists: (item: ItemId) => Promise<boolean>
  readonly alarm: AcknowledgedContext['alarm'] & Alarm<'newer_message'>
  /** Lets others have this member's partitions for so long. */
  readonly stayOut: (forMs: number) => void
}

/** Of one chunk side by side; what the ledger bears is bounded by its own batches. */
const ITEMS_AT_ONCE_MAX = 32
/** A newer member, if there is one, may have this one's partitions for a moment. */
const NEWER_OUT_MS = 2_000
const NEWER_EVERY_MS = 60_000

/** Of a message whose key names none. */
const NO_ITEM = '0'

interface Group {
  readonly partition: Partition
  readonly epoch: Epoch
  readonly entries: OutboxEntry[]
}

type Read = { readonly record: LogRecord; readonly message: ReturnType<typeof readEntryMessage> }

export function createRecordPlacer(context: RecordContext) {
  const { outbox, clock, log, meters, pace } = context
  const placing = new Set<Group>()
  let newerAtMs = Number.NEGATIVE_INFINITY
  const orders: RecordContext['orders'] = {
    ...context.orders,
    async place(...args) {
      const askedAtMs = clock.elapsed()
      try {
        return await context.orders.place(...args)
      } finally {
        pace.answered(clock.elapsed() - askedAtMs)
      }
    },
  }

  async function handle(batch: LogBatch): Promise<void> {
    let rest = batch.records
    while (rest.length > 0 && !batch.signal.aborted) {
      const chunk = chunkOf(rest)
      await place(chunk)
      const last = chunk.at(-1)?.record
      if (last !== undefined) {
        await faultPoint('consume.deleted')
        if (!(await batch.commit(last.offset + 1n))) return
        await faultPoint('consume.committed')
      }
      rest = rest.slice(chunk.length)
      const next = rest[0] && readEntryMessage(rest[0])
      if (next?.kind === 'newer') return leave(rest[0]!, next.version)
    }
  }

  /** The first records, together as many reservations as the ledger bears; none from one of a newer version on. */
  function chunkOf(records: readonly LogRecord[]): Read[] {
    const chunk: Read[] = []
    let asks = 0
    for (const record of records) {
      const message = readEntryMessage(record)
      if (message.kind === 'newer') break
      asks += message.kind === 'entry' ? message.entry.asks.length : 1
      if (chunk.length > 0 && asks > pace.asksMax()) break
      chunk.push({ record, message })
    }
    return chunk
  }

  async function place(chunk: readonly Read[]): Promise<void> {
    const groups = new Map<Partition, Group[]>()
    for (const { record, message } of chunk) {
      if (message.kind === 'entry') join(groups, message)
      else if (message.kind === 'unreadable') await buryRecord(record, message.why)
    }
    // Of one partition in order, because entries of an older epoch come first.
    await eachOf([...groups.values()], ITEMS_AT_ONCE_MAX, async ofPartition => {
      for (const group of ofPartition) await placeGroup(group)
    })
  }

  function join(groups: Map<Partition, Group[]>, { partition, entry }: EntryMessage): void {
    const ofPartition = groups.get(partition) ?? []
    groups.set(partition, ofPartition)
    const last = ofPartition.at(-1)
    if (last?.epoch !== entry.epoch) ofPartition.push({ partition, epoch: entry.epoch, entries: [entry] })
    // The same copy may be there twice.
    else if (!last.entries.some(one => one.id === entry.id)) last.entries.push(entry)
  }

  async function placeGroup(group: Group): Promise<void> {
    const { partition, epoch, entries } = group
    let gateAway = false
    const away = (fault: Fault) => {
      gateAway = true
      log.warn(
        { event: 'entries_not_deleted', partition, epoch, code: fault.code, err: fault },
        'placed; the gate does not answer, the outbox keeps the entries',
      )
    }
    const release: Outbox['release'] = async (...args) => {
      const done = await onFault(() => outbox.release(...args), away)
      if (done?.status === 'unknown') gateAway = true
      return done === undefined || done.status === 'unknown' ? { status: 'stale' } : done
    }
    placing.add(group)
    try {
      const placed = await placeEntries(
        { ...context, orders, outbox: { ...outbox, release } },
        partition,
        epoch,
        entries,
      )
      if (placed.length > 0) context.channel.publish({ kind: 'orders', orders: placed })
      const ids = entries.map(entry => entry.id)
      if (!gateAway) await onFault(() => outbox.done(partition, epoch, ids), away)
      meters.count('kafka_records', gateAway ? 'kept' : 'placed', entries.length)
    } catch (error) {
      const item = outbox.itemOf(partition)
      if (!(error instanceof Fault) || error.code !== 'ledger_unfit' || (await context.exists(item))) throw error
      meters.count('kafka_records', 'gone', entries.length)
      log.warn(
        { event: 'messages_passed', item, epoch, entries: entries.length },
        'messages passed over: the ledger has no such item any more',
      )
    } finally {
      placing.delete(group)
    }
  }

  async function buryRecord({ partition, offset, key = '', value }: LogRecord, why: string): Promise<void> {
    meters.count('kafka_records', 'dead')
    const entry = `message ${partition}:${offset}`
    const item = isShardId(key) ? outbox.itemOf(key as Partition) : NO_ITEM
    const unwritten = await bury(context, { item, epoch: 0, entry, order: undefined, raw: value, why })
    if (unwritten !== undefined) throw unwritten
  }

  /** What this version can't read is left for a newer worker. */
  function leave({ partition, offset }: LogRecord, version: number): void {
    if (clock.elapsed() - newerAtMs < NEWER_EVERY_MS) return
    newerAtMs = clock.elapsed()
    context.alarm('newer_message', { partition, offset: String(offset), version })
    context.stayOut(NEWER_OUT_MS)
  }

  return {
    handle,
    /** E4: is something of the item being placed that was reserved under an epoch below this one? */
    holdsOlder: (item: ItemId, epoch: Epoch): boolean =>
      [...placing].some(group => group.epoch < epoch && outbox.itemOf(group.partition) === item),
  }
}
