/**
 * An outbox entry as a message of a log: text that another version of this program may have written, or another program. It is checked
 * field by field. Fields that are not known here are left alone; a reader tolerates them one release before a writer adds them.
 *
 * `v` goes up only when an older reader could not place the entry rightly. Such a message is left for a newer worker.
 */

import { BUYER_LENGTH_MAX, isId } from '../../domain/ids.ts'
import { readTraces, writeTraces } from '../../gate/entry-traces.ts'
import type { OutboxEntry, Partition, QueuedAsk } from '../../gate/outbox.ts'
import { isShardId } from '../../gate/shard-ids.ts'

const VERSION = 1
/** A message that is larger can't be one of ours. */
export const MESSAGE_BYTES_MAX = 1_000_000

export interface EntryMessage {
  readonly kind: 'entry'
  readonly partition: Partition
  readonly entry: OutboxEntry & { readonly asks: readonly QueuedAsk[] }
}

type ReadMessage =
  | EntryMessage
  /** Written by a version that this one can't read. */
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'unreadable'; readonly why: string }

/** Undefined: the entry itself can't be read. */
export function writeEntryMessage(partition: Partition, { id, epoch, asks, traces }: OutboxEntry): string | undefined {
  if (asks === undefined) return undefined
  const list = asks.map(one => [one.order, one.buyer, one.attempt, one.quantity, one.reservedAtMs])
  return JSON.stringify({ v: VERSION, partition, epoch, entry: id, asks: list, traces: writeTraces(traces) })
}

/** @param record as it is in the log */
export function readEntryMessage(record: {
  readonly key: string | undefined
  readonly value: string
  readonly bytes: number
  readonly sentMs?: number
}): ReadMessage {
  if (record.bytes > MESSAGE_BYTES_MAX) return unreadable(`${record.bytes} bytes are more than an entry has`)
  const fields = jsonIn(record.value)
  if (fields === undefined) return unreadable('it is no JSON object')
  const { v, partition, epoch, entry, asks, traces } = fields
  if (!isNumber(v)) return unreadable('it has no version')
  if (v > VERSION) return { kind: 'newer', version: v }
  if (typeof partition !== 'string' || !isShardId(partition)) return unreadable('it names no partition')
  if (record.key !== partition) return unreadable('its key is not its partition')
  if (!isNumber(epoch)) return unreadable('it has no epoch')
  if (typeof entry !== 'string' || !isEntryOf(partition, entry)) return unreadable('it names no outbox entry')
  if (!Array.isArray(asks) || asks.length === 0) return unreadable('it has no reservations')
  const read: QueuedAsk[] = []
  for (const one of asks) {
    const ask = askFrom(one)
    if (ask === undefined) return unreadable('a reservation in it can not be read')
    read.push(ask)
  }
  const more = { traces: readTraces(traces), copiedAtMs: record.sentMs }
  const own = { id: entry, epoch, asks: read, ...more, raw: record.value }
  return { kind: 'entry', partition: partition as Partition, entry: own }
}

function unreadable(why: string): ReadMessage {
  return { kind: 'unreadable', why }
}

function askFrom(list: unknown): QueuedAsk | undefined {
  if (!Array.isArray(list)) return undefined
  const [order, buyer, attempt, quantity, reservedAtMs] = list
  if (typeof order !== 'string' || !isId(order) || typeof buyer !== 'string') return undefined
  if (buyer.length < 1 || buyer.length > BUYER_LENGTH_MAX) return undefined
  if (!isNumber(attempt) || !isNumber(quantity) || typeof reservedAtMs !== 'number') return undefined
  return { order, buyer, attempt, quantity, reservedAtMs }
}

/** The id of an entry of one of several shards begins with the shard's name. */
function isEntryOf(partition: string, id: string): boolean {
  const own = partition.includes('#') ? id.slice(partition.length + 1) : id
  return /^\d{1,20}-\d{1,20}$/.test(own) && (own === id || id.startsWith(`${partition} `))
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1
}

function jsonIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined
  } catch {
    return undefined
  }
}
