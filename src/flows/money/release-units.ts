/**
 * Units of closed orders go back on sale. The closing transaction wrote a release row; the gate releases under the epoch that is read
 * together with the row; the row is deleted only when the gate has answered `done` (E8). A crash in between repeats the release, which
 * then does nothing.
 */

import { atMost } from '../../base/deadline.ts'
import { eachOf } from '../../base/each-of.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { DueRelease } from '../../ledger/orders.ts'
import type { MoneyPorts } from './money-context.ts'

type ReleaseContext = Pick<MoneyPorts, 'gate' | 'closings' | 'onReleased'>

const RELEASES_MAX = 5_000
const RELEASES_OF_ITEM_MAX = 500
const ITEMS_AT_ONCE_MAX = 32
const NOW_MS_MAX = 500

/**
 * Releases these orders before the caller answers that they are closed, so that a ticket asked for right after it is for the next attempt,
 * on every edge. After `NOW_MS_MAX` the caller goes on, and the release loop does the rest.
 */
export async function releaseNow(
  context: ReleaseContext & Pick<MoneyPorts, 'clock' | 'log'>,
  orders: readonly OrderId[],
): Promise<void> {
  const releasing = releaseOrders(context, orders).catch((error: unknown) => {
    // The orders are closed in any case. A bug is logged here, and the release loop will meet it again.
    if (!(error instanceof Fault))
      context.log.error({ orders, err: error }, 'closed orders not released at the gate, the release loop repeats it')
  })
  await atMost(context.clock, NOW_MS_MAX, releasing)
}

async function releaseOrders(context: ReleaseContext, orders: readonly OrderId[]): Promise<void> {
  const due = await context.closings.releasesOf(orders)
  for (const [item, releases] of Map.groupBy(due, release => release.item)) await releaseItem(context, item, releases)
}

/**
 * Releases what is due, up to a bound per item. True when something may be left for the next round. An item whose gate is unreachable does
 * not hold up the others; its fault is thrown at the end.
 */
export async function releaseUnits(context: ReleaseContext): Promise<boolean> {
  await context.closings.releaseIdle()
  const due = await context.closings.releases(RELEASES_MAX, RELEASES_OF_ITEM_MAX)
  const items = [...Map.groupBy(due, release => release.item)]
  let more = due.length === RELEASES_MAX
  await eachOf(items, ITEMS_AT_ONCE_MAX, async ([item, releases]) => {
    const done = await releaseItem(context, item, releases)
    if (!done || releases.length === RELEASES_OF_ITEM_MAX) more = true
  })
  return more
}

async function releaseItem(context: ReleaseContext, item: ItemId, due: readonly DueRelease[]): Promise<boolean> {
  const releases = due.map(({ order, buyer, attempt, outcome }) => ({ order, buyer, attempt, outcome }))
  await faultPoint('release.before')
  const done = await context.gate.release(item, due[0]!.epoch, releases)
  // Stale: the item is being rebuilt from the ledger; the row then finds nothing to release in the new gate.
  if (done.status !== 'done') return false
  await faultPoint('release.done')
  const released = await context.closings.released(due.map(({ order }) => order))
  if (released > 0) context.onReleased(released)
  return true
}
