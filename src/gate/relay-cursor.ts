/**
 * How far an outbox has been copied to a log outside the gate. A copy changes nothing about the entry: it stays in the outbox until the
 * ledger has committed it, and `done` deletes it. The cursor only goes up and is written after the copy is stored, so a copy may be
 * made twice and none is left out. It lives and dies with the outbox: a server that lost entries has a cursor of before as well.
 */

import type { Epoch } from '../domain/ids.ts'
import type { Partition, TakeReply } from './outbox.ts'

/** Up to which entry of one epoch copies were made, and where in the log the last of them is, in the log's own words. */
export interface CopiedUpTo {
  readonly epoch: Epoch
  readonly entry: string
  readonly position: string
}

export interface RelayCursor {
  /** As `Outbox.take`, under the same lease, only of entries that were not copied yet. */
  uncopied(partition: Partition, worker: string, asksMax: number): Promise<TakeReply>
  /** A cursor that is further already stays. One of an epoch that has no outbox any more is not written. */
  copied(partition: Partition, upTo: CopiedUpTo): Promise<void>
  /** Of each epoch that has one and has entries at or before it. */
  cursors(partition: Partition): Promise<readonly CopiedUpTo[]>
  /** Entries at or before this cursor are copied again, if it still stands there and there are any. True: so it is. */
  rewind(partition: Partition, upTo: CopiedUpTo): Promise<boolean>
}
