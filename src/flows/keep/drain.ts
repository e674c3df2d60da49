/**
 * E4: waits until nothing acknowledged under an older epoch is outside the ledger. That is so when every process with a lease has written
 * "seen this epoch, nothing older held", or its lease has lapsed, and the outbox is empty. Without the gate there is no outbox to read, and
 * the caller learns how many processes lapsed unconfirmed (E10).
 *
 * Only ever for one's own epoch: when the ledger shows another, the waiting ends (E3). Bounded; a drain that gives up is started over under
 * a new epoch.
 */

import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Nodes } from '../../ledger/nodes.ts'
import type { Rights } from '../../ledger/rights.ts'

export interface DrainedParts {
  readonly outbox: Pick<Outbox, 'depth'>
  readonly nodes: Pick<Nodes, 'unconfirmed'>
  readonly rights: Pick<Rights, 'read'>
}

interface DrainParts extends DrainedParts {
  readonly clock: Clock
  readonly log: Log
  readonly mayGoOn: () => boolean
  /** Longer than a lease: a process that died must have the time to lapse. */
  readonly drainMsMax: number
}

/** Grows: a drain that waits for a lease to lapse is not over in a moment, and there may be many of them. */
const READ_EVERY_MS = 100
const READ_EVERY_MS_MAX = 500
const LOG_EVERY_MS = 2_000

/** Undefined: the epoch is not ours any more, or it took too long. `lapsed`: processes whose lease ended unconfirmed. */
export async function drain(
  parts: DrainParts,
  item: ItemId,
  epoch: Epoch,
  withOutbox: boolean,
): Promise<{ readonly lapsed: number } | undefined> {
  const { clock, log } = parts
  const startedMs = clock.elapsed()
  let loggedMs = startedMs
  for (let pauseMs = READ_EVERY_MS; ; pauseMs = Math.min(pauseMs * 1.25, READ_EVERY_MS_MAX)) {
    if (!parts.mayGoOn()) return undefined
    const [right] = await parts.rights.read([item])
    if (right?.epoch !== epoch) return undefined

    const { waiting, lapsed } = await parts.nodes.unconfirmed(item, epoch)
    const entries = withOutbox ? await entriesOf(parts, item) : 0
    if (waiting === 0 && entries === 0) return { lapsed }

    const nowMs = clock.elapsed()
    const waitedMs = Math.round(nowMs - startedMs)
    if (waitedMs > parts.drainMsMax) {
      log.error(
        { item, epoch, waiting, lapsed, entries, waitedMs },
        entries > 0
          ? 'outbox not drained in time: is a worker running, and does the ledger answer? The item stays off sale; starting over'
          : 'a process does not confirm the new epoch: it renews its lease but does not follow. The item stays off sale; starting over',
      )
      return undefined
    }
    if (nowMs - loggedMs >= LOG_EVERY_MS) {
      loggedMs = nowMs
      log.info({ item, epoch, waiting, lapsed, entries, waitedMs }, 'draining')
    }
    await clock.sleep(pauseMs)
  }
}

/**
 * Read once: is every reservation of this item that a buyer was ever told of in the ledger? No while its gate may sell it, and no while a process
 * has lapsed unconfirmed. The outbox is read last: a process that has confirmed writes nothing into it any more.
 */
export async function isDrained(parts: DrainedParts, item: ItemId): Promise<boolean> {
  const [right] = await parts.rights.read([item])
  if (right === undefined || right.door === 'gate') return false
  const { waiting, lapsed } = await parts.nodes.unconfirmed(item, right.epoch)
  return waiting + lapsed === 0 && (await entriesOf(parts, item)) === 0
}

export async function entriesOf({ outbox }: Pick<DrainedParts, 'outbox'>, item: ItemId): Promise<number> {
  let entries = 0
  for (const depth of await outbox.depth([item])) entries += depth.entries
  return entries
}
