/**
 * Places acknowledged reservations of one item and one epoch, for the worker (from the outbox) and for the edge that acknowledged them (the
 * hand-over). Whatever the ledger decides about one ends in a row: the order, the row it had, or a refusal.
 *
 * What the ledger can't even read (a name it can't store, a number out of range) would block all others: such a batch is tried a few times,
 * then reservation by reservation. The one that fails is poison: it is stored as a dead letter, its order is born closed where that is
 * possible, and an alarm is raised.
 *
 * Only a reservation that fails by itself is poison. If an empty batch fails too, the database is at fault: that is a Fault, and everything
 * stays where it is. May be repeated from the start at any point.
 */

import { assertAnswered } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Flight } from '../../base/flight.ts'
import type { Alarm, Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import type { SpanWriter } from '../../base/trace.ts'
import { type Epoch, type ItemId, isId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { DeadLetter, Journal } from '../../ledger/journal.ts'
import type { Orders, PlaceAsk, Placing } from '../../ledger/orders.ts'

export interface AcknowledgedContext {
  readonly orders: Pick<Orders, 'place' | 'refuse'>
  readonly journal: Pick<Journal, 'writeDeadLetter'>
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
  readonly flight?: Flight
  /** Undefined: nothing is traced. */
  readonly spans?: SpanWriter | undefined
  readonly alarm: Alarm<'dead_letter' | 'refused_acknowledged' | 'foreign_order_id'>
}

/**
 * placed, same, refused  the row is committed
 * dead    poison, and its dead letter is committed; so is its refusal, unless no row can hold it (`order` is undefined)
 * stuck   poison, and its dead letter (`letter` is false) or its refusal could not be written, for a reason that is no fault of the ledger
 */
export type Outcome =
  | Exclude<Placing, { readonly verdict: 'id_conflict' }>
  | { readonly verdict: 'dead'; readonly order: Order | undefined }
  | { readonly verdict: 'stuck'; readonly letter: boolean; readonly why: Fault }

/** Where the reservations come from. */
interface Source<Ask> {
  readonly item: ItemId
  readonly epoch: Epoch
  readonly faultPoints: 'place' | 'handover'
  /** Under which entry a dead letter is stored. */
  readonly entryOf: (ask: Ask) => string
}

const TRIES_MAX = 3
const TRY_AGAIN_MS = 50

/** @param settle called for each, in their order, as soon as its outcome is known. After a fault the rest has none. */
export async function placeAcknowledged<Ask extends PlaceAsk>(
  context: AcknowledgedContext,
  source: Source<Ask>,
  asks: readonly Ask[],
  settle: (ask: Ask, outcome: Outcome) => void,
): Promise<void> {
  const placing = new AcknowledgedPlacing(context, source)
  const placings = await placing.together(asks)
  for (let i = 0; i < asks.length; i++) {
    const ask = asks[i]!
    const outcome = placings === undefined ? placing.alone(ask) : placing.outcomeOf(ask, placings[i]!)
    // Nearly always it is known at once. To wait all the same would cost every order a turn of its own.
    settle(ask, outcome instanceof Promise ? await outcome : outcome)
  }
}

class AcknowledgedPlacing<Ask extends PlaceAsk> {
  readonly #context: AcknowledgedContext
  readonly #source: Source<Ask>

  constructor(context: AcknowledgedContext, source: Source<Ask>) {
    this.#context = context
    this.#source = source
  }

  /** Undefined: the ledger does not take them, for a reason that a retry does not change. */
  async together(asks: readonly Ask[]): Promise<readonly Placing[] | undefined> {
    const { log, clock } = this.#context
    const { item, epoch } = this.#source
    for (let tries = 1; ; tries++) {
      try {
        return await this.#place(asks)
      } catch (error) {
        if (error instanceof Fault) throw error
        log.error({ event: 'batch_not_placed', item, epoch, asks: asks.length, tries, err: error }, 'batch not placed')
        if (tries === TRIES_MAX) return undefined
        await clock.sleep(TRY_AGAIN_MS)
      }
    }
  }

  /** One that fails alone is poison. */
  async alone(ask: Ask): Promise<Outcome> {
    let placing: Placing | undefined
    try {
      ;[placing] = await this.#place([ask])
    } catch (error) {
      if (error instanceof Fault) throw error
      await this.#checkLedger(error)
      return this.#refuse(ask, error)
    }
    return this.outcomeOf(ask, placing!)
  }

  outcomeOf(ask: Ask, placing: Placing): Outcome | Promise<Outcome> {
    const { alarm, meters, flight } = this.#context
    const { item, epoch } = this.#source
    if (placing.verdict === 'id_conflict') return this.#idConflict(ask)
    if (placing.verdict !== 'same') meters.count('orders', placing.verdict)
    flight?.note(`ledger ${placing.verdict}`, item, ask.order)
    if (placing.verdict === 'refused' && placing.order.supersededBy === undefined)
      alarm('refused_acknowledged', { order: ask.order, item, epoch })
    return placing
  }

  /** The id is another buyer's order, so this reservation can't have a row: it only gets the dead letter. */
  async #idConflict(ask: Ask): Promise<Outcome> {
    this.#context.alarm('foreign_order_id', { order: ask.order, item: this.#source.item })
    const why = await this.#bury(ask, 'the order id belongs to another buyer')
    return why === undefined ? { verdict: 'dead', order: undefined } : { verdict: 'stuck', letter: false, why }
  }

  async #place(asks: readonly Ask[]): Promise<readonly Placing[]> {
    const { orders, clock, meters } = this.#context
    const { item, epoch, faultPoints } = this.#source
    await faultPoint(`${faultPoints}.before`)
    const askedAtMs = clock.elapsed()
    const reply = await orders.place(item, epoch, true, asks)
    meters.time('ledger_place', clock.elapsed() - askedAtMs)
    await faultPoint(`${faultPoints}.after`)
    if (reply.status !== 'ok')
      throw new Fault('ledger_unfit', `item ${item}: what was acknowledged is stale, not refused by a row (E5)`, {
        retryable: true,
      })
    assertAnswered('the ledger', asks, reply.placings)
    return reply.placings
  }

  /** If an empty batch fails too, the database is at fault, not a reservation. */
  async #checkLedger(why: unknown): Promise<void> {
    const { item, epoch } = this.#source
    try {
      await this.#context.orders.place(item, epoch, true, [])
    } catch (error) {
      throw asFault(error, 'ledger_unfit', `nothing can be placed for item ${item}: ${messageOf(why)}`)
    }
  }

  /** The dead letter first: everything after it may fail. */
  async #refuse(ask: Ask, because: unknown): Promise<Outcome> {
    const { orders, log, meters } = this.#context
    const { item, epoch } = this.#source
    const unwritten = await this.#bury(ask, messageOf(because))
    if (unwritten !== undefined) return { verdict: 'stuck', letter: false, why: unwritten }
    try {
      const order = await orders.refuse(item, epoch, ask)
      if (order?.reason === 'refused') meters.count('orders', 'refused')
      return { verdict: 'dead', order }
    } catch (error) {
      if (error instanceof Fault) throw error
      log.error(
        { event: 'refusal_not_stored', item, order: ask.order, err: error },
        'refusal not stored; the dead letter stays',
      )
      const why = asFault(error, 'refusal_unwritten', `a refusal can not be written: ${messageOf(error)}`)
      return { verdict: 'stuck', letter: true, why }
    }
  }

  #bury(ask: Ask, why: string): Promise<Fault | undefined> {
    const { item, epoch, entryOf } = this.#source
    const order = isId(ask.order) ? ask.order : undefined
    return bury(this.#context, { item, epoch, entry: entryOf(ask), order, why, raw: JSON.stringify(ask) })
  }
}

/**
 * Stores a dead letter. Why it could not, if the letter is the reason; a ledger that is away is thrown. The alarm is raised for a letter
 * that is new, or may be: one that is tried again after it was stored raises none.
 */
export async function bury(
  { alarm, journal }: Pick<AcknowledgedContext, 'alarm' | 'journal'>,
  letter: DeadLetter,
): Promise<Fault | undefined> {
  const { raw: _, ...about } = letter
  try {
    if (await journal.writeDeadLetter(letter)) alarm('dead_letter', about)
  } catch (error) {
    if (!(error instanceof Fault) || error.outcomeUnknown) alarm('dead_letter', about)
    if (error instanceof Fault) throw error
    return asFault(error, 'dead_letter_unwritten', `a dead letter can not be written: ${messageOf(error)}`)
  }
}

function asFault(error: unknown, code: string, message: string): Fault {
  return error instanceof Fault ? error : new Fault(code, message, { retryable: true, cause: error })
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
