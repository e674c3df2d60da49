/**
 * E4, where outbox entries are also copied to a log: a copy may be all that is left of a reservation whose gate has lost it. So a drain waits
 * until the item's copies are placed up to where they ended when every process had confirmed the new epoch: after that, no process makes a copy
 * of an older one.
 *
 * The outbox is what counts; the copies only help where it lost something. A log that does not answer, or that is not read any further, holds
 * up a drain for a bounded time. Then the outbox alone decides, with an alarm. One that is read slowly is waited for.
 */

import type { Clock } from '../../base/clock.ts'
import { atMost } from '../../base/deadline.ts'
import { onFault } from '../../base/fault.ts'
import type { Alarm, Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'

/** Where copies end: partition of the log → offset. */
type CopyEnds = ReadonlyMap<number, bigint>

export interface EntryCopies {
  /** Where the copies of this item's entries end now. */
  ends(item: ItemId): Promise<CopyEnds>
  /** How many messages before that are not in the ledger yet; none: all of them are. */
  unplaced(ends: CopyEnds): Promise<bigint>
}

/** Entries are placed straight from the outbox. */
export const noCopies: EntryCopies = {
  ends: async () => new Map(),
  unplaced: async () => 0n,
}

export interface CopiesContext {
  readonly entryCopies: EntryCopies
  readonly clock: Clock
  readonly log: Log
  readonly alarm: Alarm<'copies_unread'>
}

/** A log that does not answer at all. */
const SILENT_MS_MAX = 3_000
/** One that answers, but is not read any further. */
const UNREAD_MS_MAX = 15_000

/** One drain's wait. To be asked when all else is drained; what it has learned counts for as long as that stays so. */
export function createCopiesWait({ entryCopies, clock, log, alarm }: CopiesContext, item: ItemId, epoch: Epoch) {
  let ends: CopyEnds | undefined
  let left: bigint | undefined
  let beganMs: number | undefined
  let answeredMs = 0
  let movedMs = 0

  async function ask(): Promise<boolean> {
    ends ??= await entryCopies.ends(item)
    answeredMs = clock.elapsed()
    if (ends.size === 0) return true
    const now = await entryCopies.unplaced(ends)
    answeredMs = clock.elapsed()
    if (left !== undefined && now < left) movedMs = answeredMs
    left = now
    return now === 0n
  }

  return async function arePlaced(): Promise<boolean> {
    if (beganMs === undefined) {
      beganMs = clock.elapsed()
      answeredMs = beganMs
      movedMs = beganMs
    }
    if ((await atMost(clock, SILENT_MS_MAX, onFault(ask))) === true) return true
    const nowMs = clock.elapsed()
    const answers = nowMs - answeredMs < SILENT_MS_MAX
    if (answers && nowMs - movedMs < UNREAD_MS_MAX) return false
    const waitedMs = Math.round(nowMs - beganMs)
    alarm('copies_unread', { item, epoch, waitedMs })
    log.error(
      { event: 'copies_unread', item, epoch, waitedMs, answers },
      'copies of outbox entries are not read to their end: the outbox alone decides that the item is drained',
    )
    return true
  }
}
