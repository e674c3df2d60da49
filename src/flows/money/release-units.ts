/**
 * Units of closed orders go back on sale. The closing transaction wrote a release row; the gate is told under the epoch read together
 * with it; the row is deleted only when the gate has done it (E8). Dying in between repeats the release, which then does nothing.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Closings, DueRelease } from '../../ledger/closings.ts'

export interface ReleaseParts {
  readonly gate: Gate
  readonly closings: Closings
  readonly clock: Clock
  readonly log: Pick<Log, 'error'>
  readonly onReleased: (count: number) => void
}

const RELEASES_MAX = 5_000
const RELEASES_OF_ITEM_MAX = 500
const ITEMS_AT_ONCE_MAX = 32

/** How long whoever closed an order waits for its gate to know. */
const AT_ONCE_MS_MAX = 500

/**
 * These orders, before the answer that they are closed: whoever asks for a ticket right after it is given the next attempt, wherever they ask.
 * A gate or ledger that does not answer in time holds up nobody: the rounds do it, as they do everything else.
 */
export async function releaseAtOnce(parts: ReleaseParts, orders: readonly OrderId[]): Promise<void> {
  const done = new AbortController()
  const late = parts.clock.sleep(AT_ONCE_MS_MAX, done.signal)
  const releasing = releaseOrders(parts, orders).catch((error: unknown) => {
    // The order is closed, whatever becomes of this. A bug is shown; the rounds will meet it again.
    if (!(error instanceof Fault))
      parts.log.error({ orders, err: error }, 'closed orders could not be told to the gate')
  })
  try {
    await Promise.race([releasing, late])
  } finally {
    done.abort()
  }
}

async function releaseOrders(parts: ReleaseParts, orders: readonly OrderId[]): Promise<void> {
  const due = await parts.closings.releasesOf(orders)
  for (const [item, releases] of Map.groupBy(due, release => release.item)) await releaseItem(parts, item, releases)
}

/**
 * What is due now, of every item its share. True when something may be left for the next round. One item whose gate is away does not hold up
 * the others.
 */
export async function releaseUnits(parts: ReleaseParts): Promise<boolean> {
  await parts.closings.releaseIdle()
  const due = await parts.closings.releases(RELEASES_MAX, RELEASES_OF_ITEM_MAX)
  const items = [...Map.groupBy(due, release => release.item)]
  let more = due.length === RELEASES_MAX
  let away: Fault | undefined
  for (let i = 0; i < items.length; i += ITEMS_AT_ONCE_MAX)
    await Promise.all(items.slice(i, i + ITEMS_AT_ONCE_MAX).map(([item, releases]) => release(item, releases)))
  if (away !== undefined) throw away
  return more

  async function release(item: ItemId, releases: readonly DueRelease[]): Promise<void> {
    try {
      const done = await releaseItem(parts, item, releases)
      if (!done || releases.length === RELEASES_OF_ITEM_MAX) more = true
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      away = error
    }
  }
}

async function releaseItem(parts: ReleaseParts, item: ItemId, releases: readonly DueRelease[]): Promise<boolean> {
  const epoch = releases[0]!.epoch
  await faultPoint('release.before')
  const done = await parts.gate.release(
    item,
    epoch,
    releases.map(({ order, buyer, attempt, outcome }) => ({ order, buyer, attempt, outcome })),
  )
  // Stale: the item is being rebuilt; the next gate is built from the ledger, and then the row finds nothing to do.
  if (done.status !== 'done') return false
  await faultPoint('release.done')
  const released = await parts.closings.released(releases.map(release => release.order))
  if (released > 0) parts.onReleased(released)
  return true
}
