/**
 * `place` for many items at once. A batch goes to PostgreSQL alone while at most one other does; beyond that, batches of different items
 * wait while one call is under way and go together in the next: with a hundred hot items every batch is small, and a transaction for each would
 * cost ten times as much per order. No timers: a batch that finds no call under way does not wait.
 *
 * Guarantees: each batch is answered as `place` would have answered it. A call for many never waits for an item's lock: an item that another
 * transaction has locked is placed alone, and delays no other item. A batch that PostgreSQL rejects fails alone. A fault (away, or outcome
 * unknown) rejects all batches of the call: each is repeated with the same ids.
 * A call that takes far too long (its connection hangs) does not stop the others: later batches start another call.
 * Bounded: one call for many at a time, a few when some hang, each with a bounded number of items and asks.
 */

import { assert } from '../../base/assert.ts'
import { type Clock, nextTurn, systemClock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Orders, PlaceAsk, PlaceReply } from '../orders.ts'
import type { Database } from './connection/database.ts'
import { arrayOf, askArrays, toPlaceReply } from './place-replies.ts'
import { number, queries, text } from './rows.ts'

interface Batch {
  readonly item: ItemId
  readonly epoch: Epoch
  readonly acknowledged: boolean
  readonly asks: readonly PlaceAsk[]
  readonly placed: PromiseWithResolvers<PlaceReply>
}

const ALONE_MAX = 1
/**
 * Items that were just answered often have a next batch at once: the next call waits so many ticks of the event loop for them, or until it is
 * full enough. Otherwise two halves of the items alternate, each at the price of a call.
 */
const TICKS_MAX = 8
const FULL_ENOUGH = 64
/** Longer than any call for many takes, and far shorter than the timeout of a hanging connection. */
const HANGS_MS = 500
const CALLS_MAX = 4
const ITEMS_MAX = 256
const ASKS_MAX = 1_000

export function placeTogether(database: Pick<Database, 'run'>, clock: Clock = systemClock): Orders['place'] {
  const { one } = queries(database)
  let alone = 0
  let calls = 0
  let calledMs = 0
  let waiting: Batch[] = []
  /** What is asked for before it begins goes together: a worker gets the entries of many items at the same time. */
  let due = false

  const placeAlone: Orders['place'] = async (item, epoch, acknowledged, asks) => {
    alone += 1
    try {
      const values = [item, epoch, acknowledged, ...askArrays(asks)]
      return await one('place', values, row => toPlaceReply(row, item, epoch, asks))
    } finally {
      alone -= 1
    }
  }

  function placeApart({ item, epoch, acknowledged, asks, placed }: Batch): void {
    placeAlone(item, epoch, acknowledged, asks).then(placed.resolve, placed.reject)
  }

  /** As many as one call may hold, oldest first; one per item. */
  function gather(): Batch[] {
    const some: Batch[] = []
    const items = new Set<ItemId>()
    let asks = 0
    waiting = waiting.filter(batch => {
      const fits = some.length === 0 || (some.length < ITEMS_MAX && asks + batch.asks.length <= ASKS_MAX)
      const later = !fits || items.has(batch.item)
      // Also when it has to wait: later batches of the same item must not be placed before it.
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
      for (let ticks = 0; ticks < TICKS_MAX && asksOf(waiting) < all; ticks++) await new Promise<void>(nextTurn)
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
        if (text(row, 'status') === 'locked') placeApart(batch)
        else batch.placed.resolve(toPlaceReply(row, batch.item, batch.epoch, batch.asks))
      }
    } catch (error) {
      // If it is not a fault, one batch is the cause: placed alone, each gets its own answer.
      for (const batch of batches) {
        if (error instanceof Fault) batch.placed.reject(error)
        else placeApart(batch)
      }
    }
  }

  function begin(): void {
    due = false
    const [first] = waiting
    if (first !== undefined && waiting.length === 1 && calls === 0 && alone < ALONE_MAX) {
      waiting = []
      placeApart(first)
    } else if (calls === 0 || (calls < CALLS_MAX && clock.elapsed() - calledMs > HANGS_MS)) void run()
  }

  return (item, epoch, acknowledged, asks) => {
    if (asks.length === 0) return placeAlone(item, epoch, acknowledged, asks)
    const batch: Batch = { item, epoch, acknowledged, asks, placed: Promise.withResolvers() }
    waiting.push(batch)
    if (!due) queueMicrotask(begin)
    due = true
    return batch.placed.promise
  }
}

function asksOf(batches: readonly Batch[]): number {
  return batches.reduce((sum, batch) => sum + batch.asks.length, 0)
}
