/**
 * Entries of one place and one epoch, placed. Whatever the ledger says of a reservation ends in a row: the order, the row it had, or a
 * refusal; a refusal's units go back to the gate. What the ledger can't even look at (a name it can't store, a number out of range) would
 * hold up everybody behind it: such a batch is tried a few times, then reservation by reservation. The one that fails is poison: it is
 * written down as a dead letter, its order is born closed where that is possible, its units go back, and somebody is alarmed.
 *
 * Only what fails by itself is poison. If the ledger refuses an empty batch too, the failure lies elsewhere and everything stays where it
 * is. May be done again from the start at any point.
 */

import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { BUYER_LENGTH_MAX, type Epoch, type ItemId, isId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Release } from '../../gate/gate.ts'
import type { Outbox, OutboxEntry, Partition, QueuedAsk } from '../../gate/outbox.ts'
import type { DeadLetter, Journal } from '../../ledger/journal.ts'
import type { Orders, Placing } from '../../ledger/orders.ts'

export interface PlaceEntriesParts {
  readonly orders: Pick<Orders, 'place' | 'refuse'>
  readonly outbox: Pick<Outbox, 'itemOf' | 'release'>
  readonly journal: Pick<Journal, 'writeDeadLetter'>
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  readonly alarm: (
    what: 'dead_letter' | 'refused_acknowledged' | 'foreign_order_id',
    fields: Readonly<Record<string, unknown>>,
  ) => void
}

/** A reservation, and the entry it came in. */
interface Queued {
  readonly ask: QueuedAsk
  readonly entry: OutboxEntry
}

const TRIES_MAX = 3
const TRY_AGAIN_MS = 50

/** The orders as they stand in the ledger now. Throws a fault when the entries must stay. */
export async function placeEntries(
  parts: PlaceEntriesParts,
  partition: Partition,
  epoch: Epoch,
  entries: readonly OutboxEntry[],
): Promise<readonly Order[]> {
  const item = parts.outbox.itemOf(partition)
  const queue: Queued[] = []
  for (const entry of entries) {
    if (entry.asks === undefined) await buryEntry(parts, item, entry)
    else for (const ask of entry.asks) queue.push({ ask, entry })
  }
  if (queue.length === 0) return []
  parts.meters.size('place_batch', queue.length)
  const orders: Order[] = []
  const releases: Release[] = []
  const placings = await placeTogether(parts, item, epoch, queue)
  if (placings === undefined) await placeOneByOne(parts, item, epoch, queue, orders, releases)
  else for (const [i, placing] of placings.entries()) await settle(parts, item, queue[i]!, placing, orders, releases)
  await release(parts, partition, epoch, releases)
  return orders
}

/** Undefined: the ledger does not take them, for a reason that trying again does not mend. */
async function placeTogether(
  parts: PlaceEntriesParts,
  item: ItemId,
  epoch: Epoch,
  queue: readonly Queued[],
): Promise<readonly Placing[] | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await place(parts, item, epoch, queue)
    } catch (error) {
      if (error instanceof Fault) throw error
      parts.log.error({ item, epoch, asks: queue.length, tries, err: error }, 'a batch can not be placed')
      if (tries === TRIES_MAX) return undefined
      await parts.clock.sleep(TRY_AGAIN_MS)
    }
  }
}

async function place(
  parts: PlaceEntriesParts,
  item: ItemId,
  epoch: Epoch,
  queue: readonly Queued[],
): Promise<readonly Placing[]> {
  const before = faultPoint('place.before')
  if (before) await before
  const askedAtMs = parts.clock.elapsed()
  const reply = await parts.orders.place(
    item,
    epoch,
    true,
    queue.map(({ ask }) => ask),
  )
  parts.meters.time('ledger_place', parts.clock.elapsed() - askedAtMs)
  const after = faultPoint('place.after')
  if (after) await after
  assert(reply.status === 'ok', `item ${item}: what was acknowledged is stale, not refused by a row (E5)`)
  assert(
    reply.placings.length === queue.length,
    `the ledger gave ${reply.placings.length} answers to ${queue.length} reservations`,
  )
  return reply.placings
}

async function settle(
  parts: PlaceEntriesParts,
  item: ItemId,
  queued: Queued,
  placing: Placing,
  orders: Order[],
  releases: Release[],
): Promise<void> {
  const { ask } = queued
  if (placing.verdict === 'id_conflict') {
    // The id is another buyer's order, so this one can't have a row: the letter is all it gets.
    parts.alarm('foreign_order_id', { order: ask.order, item })
    await buryAsk(parts, item, queued, 'the order id belongs to another buyer')
    releases.push(releaseOf(ask))
    return
  }
  const { order, verdict } = placing
  orders.push(order)
  if (verdict !== 'same') parts.meters.count('orders', verdict)
  if (verdict === 'placed') parts.meters.time('outbox_age', Math.max(0, order.placedAtMs - ask.reservedAtMs))
  // Refused by an earlier try of the same: its units may still be held.
  if (order.reason === 'refused') releases.push(releaseOf(ask))
  if (verdict === 'refused' && order.supersededBy === undefined)
    parts.alarm('refused_acknowledged', { order: ask.order, item, epoch: queued.entry.epoch })
}

/** In their order, each by itself: who fails alone is poison. */
async function placeOneByOne(
  parts: PlaceEntriesParts,
  item: ItemId,
  epoch: Epoch,
  queue: readonly Queued[],
  orders: Order[],
  releases: Release[],
): Promise<void> {
  for (const queued of queue) {
    let placing: Placing | undefined
    let why: unknown
    try {
      ;[placing] = await place(parts, item, epoch, [queued])
    } catch (error) {
      if (error instanceof Fault) throw error
      why = error
    }
    if (placing !== undefined) await settle(parts, item, queued, placing, orders, releases)
    else {
      await ledgerWorks(parts, item, epoch, why)
      const refused = await bury(parts, item, epoch, queued, why)
      if (refused !== undefined) {
        parts.meters.count('orders', 'refused')
        orders.push(refused)
      }
      releases.push(releaseOf(queued.ask))
    }
  }
}

/** If not even nothing can be placed, no reservation is to blame. */
async function ledgerWorks(parts: PlaceEntriesParts, item: ItemId, epoch: Epoch, why: unknown): Promise<void> {
  try {
    await parts.orders.place(item, epoch, true, [])
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('ledger_unfit', `nothing can be placed for item ${item}: ${wordsOf(why)}`, {
      retryable: true,
      cause: error,
    })
  }
}

/** The letter first: whatever comes after it may fail. */
async function bury(
  parts: PlaceEntriesParts,
  item: ItemId,
  epoch: Epoch,
  queued: Queued,
  why: unknown,
): Promise<Order | undefined> {
  await buryAsk(parts, item, queued, wordsOf(why))
  try {
    return await parts.orders.refuse(item, epoch, queued.ask)
  } catch (error) {
    if (error instanceof Fault) throw error
    parts.log.error({ item, order: queued.ask.order, err: error }, 'it can not even be refused; the dead letter stands')
    return undefined
  }
}

async function buryAsk(parts: PlaceEntriesParts, item: ItemId, { ask, entry }: Queued, why: string): Promise<void> {
  const order = isId(ask.order) ? ask.order : undefined
  await write(parts, { item, epoch: entry.epoch, entry: entry.id, order, raw: JSON.stringify(ask), why })
}

async function buryEntry(parts: PlaceEntriesParts, item: ItemId, entry: OutboxEntry): Promise<void> {
  const why = 'the entry can not be read'
  await write(parts, { item, epoch: entry.epoch, entry: entry.id, order: undefined, raw: entry.raw, why })
}

/** Nothing leaves the outbox unwritten: a letter that can't be written keeps it there. */
async function write(parts: PlaceEntriesParts, letter: DeadLetter): Promise<void> {
  const { raw, ...about } = letter
  parts.alarm('dead_letter', about)
  try {
    await parts.journal.writeDeadLetter(letter)
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new Fault('dead_letter_unwritten', `a dead letter can not be written: ${wordsOf(error)}`, {
      retryable: true,
      cause: error,
    })
  }
}

/** Done again it does nothing again; stale means that this gate is gone, and the next one is built from the ledger. */
async function release(
  parts: PlaceEntriesParts,
  partition: Partition,
  epoch: Epoch,
  releases: readonly Release[],
): Promise<void> {
  const fit = releases.filter(isFit)
  if (fit.length === 0) return
  const done = await parts.outbox.release(partition, epoch, fit)
  if (done.status === 'unknown')
    throw new Fault('gate_away', `partition ${partition}: refused units may not be back in the gate`, {
      retryable: true,
    })
}

function releaseOf({ order, buyer, attempt }: QueuedAsk): Release {
  return { order, buyer, attempt, outcome: 'refused' }
}

/** What no gate can ever have recorded is not asked for: the gate would call it a bug. */
function isFit({ order, buyer, attempt }: Release): boolean {
  return (
    isId(order) &&
    buyer.length >= 1 &&
    buyer.length <= BUYER_LENGTH_MAX &&
    Number.isSafeInteger(attempt) &&
    attempt >= 1
  )
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
