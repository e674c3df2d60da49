/**
 * The relay: entries of the outbox are copied to a log, in their order, keyed by their partition, so that an item (a shard) keeps its order.
 * The entry itself stays in the outbox until the ledger has committed it.
 *
 *   1 take    the oldest entries that were not copied, under the worker's lease. Dies: another worker takes the same ones
 *   2 send    stored by every in-sync replica. Not told so: sent again
 *   3 cursor  kept beside the outbox, after the send and never before. Dies before: sent again, and placing is idempotent
 *
 * Two relays at the same time, one of which slept through its lease, both send in the order of the outbox, and each has sent or seen sent
 * everything before what it sends: the first copy of each entry comes after the first copies of all entries before it.
 *
 * Entries of an item whose outbox a rebuild waits for (E4) are placed straight, whether they were copied or not. So is an entry that no
 * message can hold, when all before it are in the ledger.
 */

import { assertAnswered } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Alarm, Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { SpanWriter } from '../../base/trace.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Outbox, OutboxEntry, Partition } from '../../gate/outbox.ts'
import type { RelayCursor } from '../../gate/relay-cursor.ts'
import type { LogMessage, LogSender, SendReply } from '../../kafka/message-log.ts'
import type { Delivery, Taken } from './delivery.ts'
import { MESSAGE_BYTES_MAX, writeEntryMessage } from './entry-message.ts'
import { copyingSpans } from './entry-spans.ts'

interface RelayContext {
  readonly outbox: Pick<Outbox, 'itemOf'>
  readonly cursor: Pick<RelayCursor, 'uncopied' | 'copied'>
  readonly sender: LogSender
  readonly topic: string
  readonly log: Log
  readonly meters: Meters
  readonly alarm: Alarm<'entry_too_large'>
  readonly spans?: SpanWriter | undefined
  /** Does a rebuild wait for this item's outbox? */
  readonly presses: (item: ItemId) => boolean
}

/** Key, headers and what surrounds a message. */
const MESSAGE_EXTRA_BYTES = 1_000
/** Entries that the log refused as too large, of which it is known. */
const LARGE_MAX = 1_000

/** As `find-stranded.ts` reads it. */
const positionText = ({ partition, offset }: Exclude<SendReply, 'too_large'>): string => `${partition}:${offset}`

/** @param straight for what is not copied */
export function createRelayDelivery(context: RelayContext, straight: Delivery): Delivery {
  const { outbox, cursor, sender, topic, meters } = context
  const large = new Set<string>()

  function messageOf(partition: Partition, entry: OutboxEntry): LogMessage | undefined {
    const value = large.has(nameOf(partition, entry)) ? undefined : writeEntryMessage(partition, entry)
    if (value === undefined || Buffer.byteLength(value) > MESSAGE_BYTES_MAX - MESSAGE_EXTRA_BYTES) return undefined
    return { key: partition, value }
  }

  /** One that no message can hold. Those before it are placed from the log: it waits for them, so that the order is kept. */
  async function deliverAlone(partition: Partition, worker: string, epoch: Epoch, entry: OutboxEntry) {
    const taken = await straight.take(partition, worker, 1)
    const oldest = taken.status === 'ok' ? taken.entries[0] : undefined
    if (taken.status !== 'ok' || oldest?.id !== entry.id || oldest.epoch !== epoch)
      throw new Fault('entry_waits', `entry ${entry.id} of ${partition} waits for those before it`, { retryable: true })
    if (entry.asks !== undefined) context.alarm('entry_too_large', { partition, epoch, entry: entry.id })
    const done = await taken.deliver(epoch, [oldest])
    large.delete(nameOf(partition, entry))
    return done
  }

  async function relay(partition: Partition, worker: string, epoch: Epoch, entries: readonly OutboxEntry[]) {
    const messages: LogMessage[] = []
    for (const entry of entries) {
      const message = messageOf(partition, entry)
      if (message === undefined) break
      messages.push(message)
    }
    if (messages.length === 0) return deliverAlone(partition, worker, epoch, entries[0]!)

    const fromMs = context.spans?.nowMs() ?? 0
    await faultPoint('relay.before')
    const replies = await sender.send(topic, messages)
    await faultPoint('relay.sent')
    assertAnswered('the log', messages, replies)
    let last: { readonly entry: string; readonly position: string } | undefined
    for (const [i, reply] of replies.entries()) {
      if (reply === 'too_large') {
        if (large.size < LARGE_MAX) large.add(nameOf(partition, entries[i]!))
        break
      }
      meters.count('kafka_records', 'relayed')
      last = { entry: entries[i]!.id, position: positionText(reply) }
    }
    copyingSpans(context.spans, entries.slice(0, messages.length), fromMs)
    const upTo = last
    return upTo === undefined ? async () => {} : () => cursor.copied(partition, { epoch, ...upTo })
  }

  return {
    async take(partition, worker, asksMax): Promise<Taken | { readonly status: 'held' }> {
      if (context.presses(outbox.itemOf(partition))) return straight.take(partition, worker, asksMax)
      const taken = await cursor.uncopied(partition, worker, asksMax)
      if (taken.status === 'held') return taken
      // What comes after an entry that no message can hold is not sent together with what is before it.
      const more = taken.more || taken.entries.some(({ asks }) => asks === undefined)
      return { ...taken, more, deliver: (epoch, entries) => relay(partition, worker, epoch, entries) }
    },
  }
}

function nameOf(partition: Partition, { epoch, id }: OutboxEntry): string {
  return `${partition} ${epoch} ${id}`
}
