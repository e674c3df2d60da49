/**
 * Orders of items that are over and settled for long move into the archive, out of the tables that a sale writes: a batch a time, each one
 * transaction under the item's lock, so that an item with a million orders holds nothing up. Dying between two batches leaves an item whose orders
 * are in both places, where every reader and writer finds them; the next round goes on.
 *
 * An order that is not settled (a refund is under way) stays, and is looked at again later. While buyers wait in a queue of this process, nothing is
 * moved. The list is read from its start every ten minutes: what is not archived yet must be read to know that nothing is due.
 */

import type { Clock } from '../../base/clock.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import { createRotation } from '../../base/rotation.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Archive } from '../../ledger/archive.ts'

interface ArchiveContext {
  readonly archive: Pick<Archive, 'toArchive' | 'move'>
  readonly clock: Clock
  readonly log: Log
  /** The final report must be so old. */
  readonly afterMs: number
  readonly busy: () => boolean
}

const ITEMS_MAX = 100
/** A few hundredths of a second of one connection. */
const BATCH_MAX = 1_000
/** To read an item costs as much as to move so many orders. */
const READ_COST = 10
const REST_MS = 600_000

/** One batch, of one item or of several small ones. True when there is more. */
export function createArchiveItems({ archive, clock, log, afterMs, busy }: ArchiveContext): () => Promise<boolean> {
  const next = createRotation(
    ITEMS_MAX,
    (after, max) => archive.toArchive(after, afterMs, max),
    id => id,
  )
  let items: ItemId[] = []
  let restsUntilMs = Number.NEGATIVE_INFINITY
  /** Where the first item's next batch begins, and how many orders of it have moved. */
  let after: OrderId = '0'
  let moved = 0

  function leave(): void {
    items.shift()
    after = '0'
    moved = 0
  }

  async function moveNext(item: ItemId): Promise<number> {
    await faultPoint('archive.before')
    const batch = await archive.move(item, after, BATCH_MAX).catch((error: unknown) => {
      // One item that can't be moved holds up no other; the next list has it again.
      leave()
      throw error
    })
    await faultPoint('archive.after')
    moved += batch?.moved ?? 0
    if (batch?.last !== undefined) after = batch.last
    else {
      if (moved > 0)
        log.info({ event: 'archived', item, orders: moved }, 'orders of a settled item moved into the archive')
      leave()
    }
    return batch?.moved ?? 0
  }

  return async () => {
    if (items.length === 0) {
      if (clock.elapsed() < restsUntilMs) return false
      const { page, isLast } = await next()
      items = [...page]
      if (isLast) restsUntilMs = clock.elapsed() + REST_MS
    }
    for (let room = BATCH_MAX; room > 0; ) {
      const [item] = items
      if (item === undefined || busy()) return false
      room -= (await moveNext(item)) + READ_COST
    }
    return true
  }
}
