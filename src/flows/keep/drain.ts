/**
 * E4: waits until nothing acknowledged under an older epoch is outside the ledger. That is so when every process with a lease has written
 * "seen this epoch, nothing older held", or its lease has lapsed, the outbox is empty, and its copies in a log are placed
 * (`entry-copies.ts`). Without the gate there is no outbox to read, and the caller learns how many processes lapsed unconfirmed (E10).
 *
 * Only ever for one's own epoch: when the ledger shows another, the waiting ends (E3). Bounded; a drain that gives up is started over under
 * a new epoch.
 */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Outbox } from '../../gate/outbox.ts'
import { createCopiesWait } from './entry-copies.ts'
import type { KeepContext } from './keep-context.ts'

/** Timers fire a little early now and then, and two machines' clocks do not run equally fast. */
const FENCE_MARGIN_MS = 50
/** Grows: a drain that waits for a lease to lapse is not over in a moment, and there may be many of them. */
const READ_EVERY_MS = 100
const READ_EVERY_MS_MAX = 500
const LOG_EVERY_MS = 2_000

/**
 * E2, E3: so long an edge may go on acknowledging under what it read before the epoch was raised; longer where an edge's own fence is.
 * 0: there is nothing to wait for.
 */
export async function fenceWaitMs({ nodes, fenceMs, log }: KeepContext): Promise<number> {
  const { longestFenceMs: longestMs } = await nodes.holding()
  if (longestMs > fenceMs)
    log.warn(
      { event: 'fence_differs', fenceMs, longestMs },
      'an edge has a longer FENCE_MS than this keeper; waiting for the longer one',
    )
  const waitMs = Math.max(fenceMs, longestMs)
  return waitMs === 0 ? 0 : waitMs + FENCE_MARGIN_MS
}

/** Undefined: the epoch is not ours any more, or it took too long. `lapsed`: processes whose lease ended unconfirmed. */
export async function drain(
  context: KeepContext,
  item: ItemId,
  epoch: Epoch,
  withOutbox: boolean,
): Promise<{ readonly lapsed: number } | undefined> {
  const { clock, log } = context
  const copiesPlaced = createCopiesWait(context, item, epoch)
  const startedMs = clock.elapsed()
  let loggedMs = startedMs
  for (let pauseMs = READ_EVERY_MS; ; pauseMs = Math.min(pauseMs * 1.25, READ_EVERY_MS_MAX)) {
    if (!context.maySell()) return undefined
    const right = await context.rights.read(item)
    if (right?.epoch !== epoch) return undefined

    const { waiting, lapsed } = await context.nodes.unconfirmed(item, epoch)
    const entries = withOutbox ? await entriesOf(context.outbox, [item]) : 0
    if (waiting === 0 && entries === 0 && (await copiesPlaced())) return { lapsed }

    const nowMs = clock.elapsed()
    const waitedMs = Math.round(nowMs - startedMs)
    if (waitedMs > context.drainMsMax) {
      log.error(
        { event: 'drain_late', item, epoch, waiting, lapsed, entries, waitedMs },
        entries > 0
          ? 'outbox not drained in time: is a worker running, and does the ledger answer? The item stays off sale; starting over'
          : waiting > 0
            ? 'a process does not confirm the new epoch: it renews its lease but does not follow. The item stays off sale; starting over'
            : 'copies of outbox entries are placed, but not to their end yet. The item stays off sale; starting over',
      )
      return undefined
    }
    if (nowMs - loggedMs >= LOG_EVERY_MS) {
      loggedMs = nowMs
      log.info({ event: 'item_draining', item, epoch, waiting, lapsed, entries, waitedMs }, 'draining')
    }
    await clock.sleep(pauseMs)
  }
}

/** Entries that wait in the outboxes of these items. */
export async function entriesOf(outbox: Pick<Outbox, 'depth'>, items: readonly ItemId[]): Promise<number> {
  let entries = 0
  for (const depth of await outbox.depth(items)) entries += depth.entries
  return entries
}
