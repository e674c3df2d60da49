/**
 * Places entries of one partition and one epoch. Whatever the ledger decides about a reservation ends in a row: the order, the row it had,
 * or a refusal; a refusal's units go back to the gate. What the ledger can't even read (a name it can't store, a number out of range) would
 * block all entries behind it: such a batch is tried a few times, then reservation by reservation. The one that fails is poison: it is
 * stored as a dead letter, its order is born closed where that is possible, its units go back, and an alarm is raised.
 *
 * Only a reservation that fails by itself is poison. If an empty batch fails too, the database is at fault, and everything stays where it
 * is. May be repeated from the start at any point.
 */

import { assert, assertAnswered } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Alarm, Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import { BUYER_LENGTH_MAX, type Epoch, type ItemId, isId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Channel } from '../../gate/channel.ts'
import type { Release } from '../../gate/gate.ts'
import type { Outbox, OutboxEntry, Partition, QueuedAsk } from '../../gate/outbox.ts'
import type { DeadLetter, Journal } from '../../ledger/journal.ts'
import type { Orders, Placing } from '../../ledger/orders.ts'

export interface PlaceContext {
  readonly orders: Pick<Orders, 'place' | 'refuse'>
  readonly outbox: Omit<Outbox, 'depth' | 'status' | 'forget'>
  readonly channel: Pick<Channel, 'publish' | 'listen'>
  readonly journal: Pick<Journal, 'writeDeadLetter'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly meters: Meters
  readonly alarm: Alarm<'dead_letter' | 'refused_acknowledged' | 'foreign_order_id'>
  /** The name for its leases, unique among all workers. */
  readonly worker: string
  /** Whose outboxes are drained now. */
  readonly items: () => Iterable<ItemId>
}

interface Queued {
  readonly ask: QueuedAsk
  readonly entry: OutboxEntry
}

const TRIES_MAX = 3
const TRY_AGAIN_MS = 50

/** The orders as they are in the ledger now. Throws a fault when the entries must stay. */
export async function placeEntries(
  context: PlaceContext,
  partition: Partition,
  epoch: Epoch,
  entries: readonly OutboxEntry[],
): Promise<readonly Order[]> {
  const placing = new EntryPlacing(context, context.outbox.itemOf(partition), epoch)
  await placing.place(entries)
  const releases = placing.releases.filter(isWellFormed)
  if (releases.length > 0) {
    // A repeated release changes nothing; stale means that this gate is gone, and the next one is built from the ledger.
    const done = await context.outbox.release(partition, epoch, releases)
    if (done.status === 'unknown')
      throw new Fault('gate_away', `partition ${partition}: refused units may not be back in the gate`, {
        retryable: true,
      })
  }
  return placing.orders
}

class EntryPlacing {
  readonly orders: Order[] = []
  /** Of reservations that were refused. */
  readonly releases: Release[] = []
  readonly #context: PlaceContext
  readonly #item: ItemId
  readonly #epoch: Epoch

  constructor(context: PlaceContext, item: ItemId, epoch: Epoch) {
    this.#context = context
    this.#item = item
    this.#epoch = epoch
  }

  async place(entries: readonly OutboxEntry[]): Promise<void> {
    const queue: Queued[] = []
    for (const entry of entries) {
      if (entry.asks === undefined) await this.#bury(entry, undefined, entry.raw, 'the entry can not be read')
      else for (const ask of entry.asks) queue.push({ ask, entry })
    }
    if (queue.length === 0) return
    this.#context.meters.size('place_batch', queue.length)
    const placings = await this.#placeTogether(queue)
    if (placings === undefined) await this.#placeOneByOne(queue)
    else for (const [i, placing] of placings.entries()) await this.#settle(queue[i]!, placing)
  }

  /** Undefined: the ledger does not take them, for a reason that a retry does not change. */
  async #placeTogether(queue: readonly Queued[]): Promise<readonly Placing[] | undefined> {
    const { log, clock } = this.#context
    for (let tries = 1; ; tries++) {
      try {
        return await this.#placeNow(queue)
      } catch (error) {
        if (error instanceof Fault) throw error
        log.error({ item: this.#item, epoch: this.#epoch, asks: queue.length, tries, err: error }, 'batch not placed')
        if (tries === TRIES_MAX) return undefined
        await clock.sleep(TRY_AGAIN_MS)
      }
    }
  }

  async #placeNow(queue: readonly Queued[]): Promise<readonly Placing[]> {
    const { orders, clock, meters } = this.#context
    await faultPoint('place.before')
    const askedAtMs = clock.elapsed()
    const asks = queue.map(({ ask }) => ask)
    const reply = await orders.place(this.#item, this.#epoch, true, asks)
    meters.time('ledger_place', clock.elapsed() - askedAtMs)
    await faultPoint('place.after')
    assert(reply.status === 'ok', `item ${this.#item}: what was acknowledged is stale, not refused by a row (E5)`)
    assertAnswered('the ledger', queue, reply.placings)
    return reply.placings
  }

  async #settle(queued: Queued, placing: Placing): Promise<void> {
    const { alarm, meters } = this.#context
    const { ask } = queued
    if (placing.verdict === 'id_conflict') {
      // The id is another buyer's order, so this reservation can't have a row: it only gets the dead letter.
      alarm('foreign_order_id', { order: ask.order, item: this.#item })
      await this.#buryAsk(queued, 'the order id belongs to another buyer')
      this.releases.push(releaseOf(ask))
      return
    }
    const { order, verdict } = placing
    this.orders.push(order)
    if (verdict !== 'same') meters.count('orders', verdict)
    if (verdict === 'placed') meters.time('outbox_age', Math.max(0, order.placedAtMs - ask.reservedAtMs))
    // Also when an earlier try was refused: its units may still be held.
    if (order.reason === 'refused') this.releases.push(releaseOf(ask))
    if (verdict === 'refused' && order.supersededBy === undefined)
      alarm('refused_acknowledged', { order: ask.order, item: this.#item, epoch: queued.entry.epoch })
  }

  /** In their order, each by itself: a reservation that fails alone is poison. */
  async #placeOneByOne(queue: readonly Queued[]): Promise<void> {
    for (const queued of queue) {
      let placing: Placing | undefined
      let why: unknown
      try {
        ;[placing] = await this.#placeNow([queued])
      } catch (error) {
        if (error instanceof Fault) throw error
        why = error
      }
      if (placing !== undefined) await this.#settle(queued, placing)
      else {
        await this.#checkLedger(why)
        await this.#refuse(queued, why)
        this.releases.push(releaseOf(queued.ask))
      }
    }
  }

  /** If an empty batch fails too, the database is at fault, not a reservation. */
  async #checkLedger(why: unknown): Promise<void> {
    try {
      await this.#context.orders.place(this.#item, this.#epoch, true, [])
    } catch (error) {
      throw asFault(error, 'ledger_unfit', `nothing can be placed for item ${this.#item}: ${messageOf(why)}`)
    }
  }

  /** The dead letter first: everything after it may fail. */
  async #refuse(queued: Queued, why: unknown): Promise<void> {
    const { orders, log, meters } = this.#context
    await this.#buryAsk(queued, messageOf(why))
    try {
      const refused = await orders.refuse(this.#item, this.#epoch, queued.ask)
      if (refused === undefined) return
      meters.count('orders', 'refused')
      this.orders.push(refused)
    } catch (error) {
      if (error instanceof Fault) throw error
      log.error({ item: this.#item, order: queued.ask.order, err: error }, 'refusal not stored; the dead letter stays')
    }
  }

  #buryAsk({ ask, entry }: Queued, why: string): Promise<void> {
    return this.#bury(entry, isId(ask.order) ? ask.order : undefined, JSON.stringify(ask), why)
  }

  /** Nothing leaves the outbox before it is stored: a dead letter that can't be written keeps the entry there. */
  async #bury({ id, epoch }: OutboxEntry, order: DeadLetter['order'], raw: string, why: string): Promise<void> {
    const about = { item: this.#item, epoch, entry: id, order, why }
    this.#context.alarm('dead_letter', about)
    try {
      await this.#context.journal.writeDeadLetter({ ...about, raw })
    } catch (error) {
      throw asFault(error, 'dead_letter_unwritten', `a dead letter can not be written: ${messageOf(error)}`)
    }
  }
}

function releaseOf({ order, buyer, attempt }: QueuedAsk): Release {
  return { order, buyer, attempt, outcome: 'refused' }
}

/** What no gate can have recorded is not released: for the gate it would be a bug. */
function isWellFormed({ order, buyer, attempt }: Release): boolean {
  const named = buyer.length >= 1 && buyer.length <= BUYER_LENGTH_MAX
  return isId(order) && named && Number.isSafeInteger(attempt) && attempt >= 1
}

function asFault(error: unknown, code: string, message: string): Fault {
  return error instanceof Fault ? error : new Fault(code, message, { retryable: true, cause: error })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
