/**
 * Units of closed orders go back on sale. The closing transaction wrote a release row; the gate releases under the epoch that is read
 * together with the row; the row is deleted only when the gate has answered `done` (E8). A crash in between repeats the release, which
 * then does nothing.
 *
 * The release loop gives the units back in random steps over `SPREAD_MS`, half of the 2 s that are promised: a program that polls, or knows
 * the second in which many orders end, does not get all of them. A row that waits for its step is a row like any other: the audit counts
 * it, a rebuild contains its units already, and after a crash the next leader finds it, older.
 */

import { atMost } from '../../base/deadline.ts'
import { eachOf } from '../../base/each-of.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { ItemId, OrderId } from '../../domain/ids.ts'
import type { DueRelease } from '../../ledger/orders.ts'
import type { MoneyPorts } from './money-context.ts'

type ReleaseContext = Pick<MoneyPorts, 'gate' | 'closings' | 'onReleased'>
type SpreadContext = ReleaseContext & Pick<MoneyPorts, 'random'>

const RELEASES_MAX = 5_000
const RELEASES_OF_ITEM_MAX = 500
const ITEMS_AT_ONCE_MAX = 32
const NOW_MS_MAX = 500
const SPREAD_MS = 1_000
/** About the time between two rounds of the release loop. */
const STEP_MS = 200

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
      context.log.error(
        { event: 'not_released', orders, err: error },
        'closed orders not released at the gate, the release loop repeats it',
      )
  })
  await atMost(context.clock, NOW_MS_MAX, releasing)
}

async function releaseOrders(context: ReleaseContext, orders: readonly OrderId[]): Promise<void> {
  const due = await context.closings.releasesOf(orders)
  for (const [item, releases] of Map.groupBy(due, release => release.item)) await releaseItem(context, item, releases)
}

/**
 * Releases what is due and has its step now, up to a bound per item. True when something may be left for the next round at once. An item
 * whose gate is unreachable does not hold up the others; its fault is thrown at the end.
 */
export async function releaseUnits(context: SpreadContext): Promise<boolean> {
  await context.closings.releaseIdle()
  const due = await context.closings.releases(RELEASES_MAX, RELEASES_OF_ITEM_MAX)
  const items = [...Map.groupBy(due, release => release.item)]
  const isFull = due.length === RELEASES_MAX
  let more = isFull
  await eachOf(items, ITEMS_AT_ONCE_MAX, async ([item, releases]) => {
    // More than a round takes: there is no time to spread them, and too many for one buyer anyway.
    const atOnce = isFull || releases.length === RELEASES_OF_ITEM_MAX
    const now = atOnce ? releases : releases.filter(one => hasStep(context, one))
    if (now.length === 0) return
    const done = await releaseItem(context, item, now)
    if (!done || atOnce) more = true
  })
  return more
}

/** The same chance for every step that is left of `SPREAD_MS`; certain at the last. Nothing has to be remembered. */
function hasStep({ random }: SpreadContext, { outcome, ageMs }: DueRelease): boolean {
  if (outcome === 'gone') return true
  const stepsLeft = Math.ceil((SPREAD_MS - ageMs) / STEP_MS)
  return stepsLeft <= 1 || random.next() * stepsLeft < 1
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
