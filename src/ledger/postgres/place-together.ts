/**
 * `place` for many items at once. A batch goes to PostgreSQL alone while hardly anything else is on its way; beyond that, batches of
 * different items gather while one call is under way and go together in the next: with a hundred hot items every batch is small, and a
 * transaction for each would cost ten times as much per order. No timers: who finds the way free does not wait.
 *
 * Guarantees: each batch is answered as `place` would have answered it. A call for many never waits for an item's lock; an item that
 * another transaction has is placed alone, so it holds up nobody. What the ledger can't even look at fails alone. A fault (away, or
 * nobody knows) is told to all of the call: each asks again with the same ids.
 * A call that takes far too long (its connection hangs) does not stop the others: the next who come start another.
 * Bounded: one call for many at a time, a few when some hang, each with a bounded number of items and asks.
 */

import { assert } from '../../base/assert.ts'
import { type Clock, nextTurn, systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Orders, PlaceAsk, PlaceReply } from '../orders.ts'
import type { Database } from './database.ts'
import { arrayOf, askArrays, toPlaceReply } from './place-replies.ts'
import { number, text } from './rows.ts'

interface Batch {
  readonly item: ItemId
  readonly epoch: Epoch
  readonly acknowledged: boolean
  readonly asks: readonly PlaceAsk[]
  readonly placed: PromiseWithResolvers<PlaceReply>
}

const ALONE_MAX = 1
/**
 * Whoever was answered may be back in a moment: so many turns of the event loop the next call waits for them, or until it is full enough.
 * Otherwise two halves of the items take turns, and each pays for a call of its own.
 */
const TURNS_MAX = 8
const FULL_ENOUGH = 64
/** Longer than a call for many ever takes, and far shorter than a hanging connection is waited for. */
const HANGS_MS = 500
const CALLS_MAX = 4
const ITEMS_MAX = 256
const ASKS_MAX = 1_000

export function placeTogether(database: Pick<Database, 'run'>, clock: Clock = systemClock): Orders['place'] {
  let alone = 0
  let calls = 0
  let calledMs = 0
  let waiting: Batch[] = []

  async function placeAlone(
    item: ItemId,
    epoch: Epoch,
    acknowledged: boolean,
    asks: readonly PlaceAsk[],
  ): Promise<PlaceReply> {
    alone += 1
    try {
      const [row] = await database.run('place', [item, epoch, acknowledged, ...askArrays(asks)])
      assert(row !== undefined, 'place answered no row')
      return toPlaceReply(row, item, epoch, asks)
    } finally {
      alone -= 1
    }
  }

  function leave({ item, epoch, acknowledged, asks, placed }: Batch): void {
    placeAlone(item, epoch, acknowledged, asks).then(placed.resolve, placed.reject)
  }

  /** As many as one call may hold, oldest first; of each item one. */
  function gather(): Batch[] {
    const some: Batch[] = []
    const items = new Set<ItemId>()
    let asks = 0
    waiting = waiting.filter(batch => {
      const fits = some.length === 0 || (some.length < ITEMS_MAX && asks + batch.asks.length <= ASKS_MAX)
      const later = !fits || items.has(batch.item)
      // Also when it has to wait: what came after it of the same item must not be placed before it.
      items.add(batch.item)
      if (later) return true
      some.push(batch)
      asks += batch.asks.length
      return false
    })
    return some
  }

  async function run(): Promise<void> {
    calls += 1
    for (let some = gather(); some.length > 0; some = gather()) {
      calledMs = clock.elapsed()
      await placeAll(some)
      const all = Math.min(FULL_ENOUGH, asksOf(waiting) + asksOf(some))
      for (let turns = 0; turns < TURNS_MAX && asksOf(waiting) < all; turns++) await new Promise<void>(nextTurn)
    }
    calls -= 1
  }

  async function placeAll(batches: readonly Batch[]): Promise<void> {
    try {
      const rows = await database.run('place_together', [
        arrayOf(batches.map(one => one.item)),
        arrayOf(batches.map(one => one.epoch)),
        batches.map(one => one.acknowledged),
        arrayOf(batches.flatMap(({ asks }, i) => asks.map(() => i + 1))),
        ...askArrays(batches.flatMap(one => one.asks)),
      ])
      assert(rows.length === batches.length, `${batches.length} batches placed together, ${rows.length} answered`)
      for (const row of rows) {
        const batch = batches[number(row, 'nth') - 1]!
        if (text(row, 'status') === 'locked') leave(batch)
        else batch.placed.resolve(toPlaceReply(row, batch.item, batch.epoch, batch.asks))
      }
    } catch (error) {
      // Not the ledger's absence: one of them is to blame, and alone it shows which.
      for (const batch of batches) {
        if (error instanceof Fault) batch.placed.reject(error)
        else leave(batch)
      }
    }
  }

  return (item, epoch, acknowledged, asks) => {
    const free = calls === 0 && waiting.length === 0 && alone < ALONE_MAX
    if (free || asks.length === 0) return placeAlone(item, epoch, acknowledged, asks)
    const batch: Batch = { item, epoch, acknowledged, asks, placed: Promise.withResolvers() }
    waiting.push(batch)
    if (calls === 0 || (calls < CALLS_MAX && clock.elapsed() - calledMs > HANGS_MS)) void run()
    return batch.placed.promise
  }
}

function asksOf(batches: readonly Batch[]): number {
  return batches.reduce((sum, batch) => sum + batch.asks.length, 0)
}
