/**
 * Finds entries whose copy is in the log no more, or was read and passed over, and which are still in the outbox: the topic was emptied or made
 * anew, its readers were set forward, a broker lost what it had stored, or the gate was away when the entry was to be deleted. Their
 * cursor is taken back, so that they are copied again. A copy that still waits to be read is left alone, however old it is.
 *
 * While an item is busy its cursor moves on, and its last copy always waits to be read. So where the same oldest entry is found again, what counts is
 * the copy that the cursor named when that entry was first found: it was made after the entry's own. (An item in several shards waits for a lull: of
 * its shards it is not known which has the oldest entry.)
 *
 * A worker deletes an entry before it commits the offset. So an entry that is still there after the offset was seen past its copy will not
 * be deleted by any reader of that copy.
 */

import type { Alarm, Log } from '../../base/log.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Outbox, Partition } from '../../gate/outbox.ts'
import type { CopiedUpTo, RelayCursor } from '../../gate/relay-cursor.ts'
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
  /** Of items with an old entry: when that entry was written, and the cursor when it was first found. Kept from one search to the next. */
  readonly seen: Map<Partition, { readonly oldestMs: number; readonly upTo: CopiedUpTo }>
}

/** Younger ones may just be on their way. */
const STRANDED_AFTER_MS = 3_000

/** Returns how many partitions are copied again. */
export async function findStranded(context: StrandedContext): Promise<number> {
  const { outbox, cursor, seen, log } = context
  const { items } = await outbox.status([...context.items()])
  const found: { readonly partition: Partition; readonly upTo: CopiedUpTo; readonly judged: CopiedUpTo }[] = []
  const before = new Map(seen)
  seen.clear()
  for (const { item, oldestMs } of items) {
    if (oldestMs === undefined || context.nowMs() - oldestMs <= STRANDED_AFTER_MS) continue
    const partitions = outbox.partitions([item])
    for (const partition of partitions) {
      const cursors = await cursor.cursors(partition)
      const first = before.get(partition)
      const isSame = first?.oldestMs === oldestMs && partitions.length === 1 && cursors.length === 1
      for (const upTo of cursors) {
        const judged = isSame && first.upTo.epoch === upTo.epoch ? first.upTo : upTo
        seen.set(partition, { oldestMs, upTo: judged })
        found.push({ partition, upTo, judged })
      }
    }
  }
  if (found.length === 0) return 0
  const progress = new Map(
    (await context.messages.progress(context.topic, context.group)).map(one => [one.partition, one]),
  )
  let rewound = 0
  for (const { partition, upTo, judged } of found) {
    const [number, offset] = judged.position.split(':')
    const copy = copyAt(progress.get(Number(number)), BigInt(offset ?? 0))
    if (copy === 'waits') continue
    // A busy item's cursor has moved meanwhile.
    const now = judged === upTo ? upTo : (await cursor.cursors(partition)).find(one => one.epoch === upTo.epoch)
    if (now === undefined || !(await cursor.rewind(partition, now))) continue
    seen.delete(partition)
    rewound += 1
    const fields = { partition, epoch: upTo.epoch, position: judged.position, copy }
    if (copy === 'lost') context.alarm('copies_lost', fields)
    log.warn(
      { event: 'entries_copied_again', ...fields },
      'entries are still in the outbox although their copies are lost or passed: they are copied again',
    )
  }
  return rewound
}

function copyAt(progress: PartitionProgress | undefined, offset: bigint): 'waits' | 'passed' | 'lost' {
  if (progress === undefined || progress.end <= offset) return 'lost'
  if (progress.committed !== undefined && progress.committed > offset) return 'passed'
  return progress.start > offset ? 'lost' : 'waits'
}
