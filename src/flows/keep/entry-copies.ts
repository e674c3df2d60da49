/**
 * E4, where outbox entries are also copied to a log: a copy may be all that is left of a reservation whose gate has lost it. So a drain waits
 * until the item's copies are placed up to where they ended when every process had confirmed the new epoch: after that, no process makes a copy
 * of an older one.
 *
 * The outbox is what counts; the copies only help where it lost something. A log that does not answer, or that is not read, holds up a
 * drain for a bounded time. Then the outbox alone decides, with an alarm.
 */

import type { Clock } from '../../base/clock.ts'
import { onFault } from '../../base/fault.ts'
import type { Alarm, Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'

/** Where copies end: partition of the log → offset. */
type CopyEnds = ReadonlyMap<number, bigint>

export interface EntryCopies {
  /** Where the copies of this item's entries end now. */
  ends(item: ItemId): Promise<CopyEnds>
  /** Is everything before that in the ledger? */
  arePlaced(ends: CopyEnds): Promise<boolean>
}

/** Entries are placed straight from the outbox. */
export const noCopies: EntryCopies = {
  ends: async () => new Map(),
  arePlaced: async () => true,
}

export interface CopiesContext {
  readonly entryCopies: EntryCopies
  readonly clock: Clock
  readonly log: Log
  readonly alarm: Alarm<'copies_unread'>
}

/** A log that does not answer at all. */
const SILENT_MS_MAX = 3_000
/** One that answers, but is not read. */
const UNREAD_MS_MAX = 15_000

/** One drain's wait. To be asked when all else is drained; what it has learned counts for as long as that stays so. */
export function createCopiesWait({ entryCopies, clock, log, alarm }: CopiesContext, item: ItemId, epoch: Epoch) {
  let ends: CopyEnds | undefined
  let beganMs: number | undefined
  let answeredMs = 0
  return async function arePlaced(): Promise<boolean> {
    const nowMs = clock.elapsed()
    if (beganMs === undefined) {
      beganMs = nowMs
      answeredMs = nowMs
    }
    const placed = await onFault(async () => {
      ends ??= await entryCopies.ends(item)
      const all = ends.size === 0 || (await entryCopies.arePlaced(ends))
      answeredMs = clock.elapsed()
      return all
    })
    if (placed === true) return true
    const silentMs = clock.elapsed() - answeredMs
    const waitedMs = Math.round(clock.elapsed() - beganMs)
    if (silentMs < SILENT_MS_MAX && waitedMs < UNREAD_MS_MAX) return false
    alarm('copies_unread', { item, epoch, waitedMs })
    log.error(
      { item, epoch, waitedMs, answers: silentMs < SILENT_MS_MAX },
      'copies of outbox entries are not read to their end: the outbox alone decides that the item is drained',
    )
    return true
  }
}
