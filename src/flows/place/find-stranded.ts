/**
 * Finds entries whose copy is in the log no more, or was read and passed over, and which are still in the outbox: the topic was emptied or made
 * anew, its readers were set forward, a broker lost what it had stored, or the gate was away when the entry was to be deleted. Their
 * cursor is taken back, so that they are copied again. A copy that still waits to be read is left alone, however old it is.
 *
 * A worker deletes an entry before it commits the offset. So an entry that is still there after the offset was seen past its copy will not
 * be deleted by any reader of that copy.
 */

import type { Alarm, Log } from '../../base/log.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { RelayCursor } from '../../gate/relay-cursor.ts'
import type { MessageLog, PartitionProgress } from '../../kafka/message-log.ts'

interface StrandedContext {
  readonly outbox: Pick<Outbox, 'status' | 'partitions'>
  readonly cursor: Pick<RelayCursor, 'cursors' | 'rewind'>
  readonly messages: Pick<MessageLog, 'progress'>
  readonly topic: string
  readonly group: string
  readonly log: Log
  readonly alarm: Alarm<'copies_lost'>
  readonly items: () => Iterable<ItemId>
  /** The gate's clock. */
  readonly nowMs: () => number
}

/** Younger ones may just be on their way. */
const STRANDED_AFTER_MS = 3_000

/** Returns how many partitions are copied again. */
export async function findStranded(context: StrandedContext): Promise<number> {
  const { outbox, cursor, log } = context
  const { items } = await outbox.status([...context.items()])
  const old = items.filter(({ oldestMs }) => oldestMs !== undefined && context.nowMs() - oldestMs > STRANDED_AFTER_MS)
  if (old.length === 0) return 0
  const found = []
  for (const partition of outbox.partitions(old.map(({ item }) => item)))
    for (const upTo of await cursor.cursors(partition)) found.push({ partition, upTo })
  if (found.length === 0) return 0
  const progress = new Map(
    (await context.messages.progress(context.topic, context.group)).map(one => [one.partition, one]),
  )
  let rewound = 0
  for (const { partition, upTo } of found) {
    const [number, offset] = upTo.position.split(':')
    const copy = copyAt(progress.get(Number(number)), BigInt(offset ?? 0))
    if (copy === 'waits' || !(await cursor.rewind(partition, upTo))) continue
    rewound += 1
    const fields = { partition, epoch: upTo.epoch, position: upTo.position, copy }
    if (copy === 'lost') context.alarm('copies_lost', fields)
    log.warn(fields, 'entries are still in the outbox although their copies are lost or passed: they are copied again')
  }
  return rewound
}

function copyAt(progress: PartitionProgress | undefined, offset: bigint): 'waits' | 'passed' | 'lost' {
  if (progress === undefined || progress.end <= offset) return 'lost'
  if (progress.committed !== undefined && progress.committed > offset) return 'passed'
  return progress.start > offset ? 'lost' : 'waits'
}
