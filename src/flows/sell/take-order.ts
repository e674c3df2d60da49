/**
 * One click, from admitted ask to answer. Refusals are values; only a bug throws.
 * Who has an order already is given that order, whatever else is true: `repeatOrder` is asked before anybody is refused.
 *
 * Behind a gate outside the process a reservation may not be in the ledger yet. Then the buyer is told "reserved", under the same rules
 * whether it is new or stood already: within the fence (E2), and remembered here until it is seen in the ledger (E6).
 */

import type { Batcher } from '../../base/batcher.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Meters } from '../../base/meters.ts'
import type { IdMaker } from '../../base/snowflake.ts'
import type { BuyerId, ItemId, OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Refusal, TakeOrderOutcome } from '../../domain/outcomes.ts'
import type { Gate, Holding } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { AttemptKey, Orders } from '../../ledger/orders.ts'
import { type AcknowledgedReservations, acknowledge } from '../follow/acknowledged-reservations.ts'
import type { MessageListener } from '../follow/messages.ts'
import type { UnplacedReservations } from '../follow/unplaced-reservations.ts'
import { BUSY, EARLY_WAIT_MS, isFollowed, type LiveItem, SOLD_OUT, standing, toReservation } from './live-item.ts'
import type { Opening } from './opening.ts'
import type { PlacementWaiters } from './placement-waiters.ts'

interface Click {
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
}

/** What only a process of a cluster has. */
interface TakeReservedParts {
  readonly waiters: Pick<PlacementWaiters, 'wait' | 'forget'>
  readonly acknowledged: AcknowledgedReservations
  readonly messages: Pick<Required<MessageListener>, 'orderReserved'>
  readonly fenceMs: number
  readonly unplaced: Pick<UnplacedReservations, 'maybe'>
}

export interface TakeOrderParts {
  readonly gate: Gate
  readonly near: LocalView
  readonly orders: Orders
  readonly ids: Pick<IdMaker, 'next'>
  readonly clock: Clock
  readonly meters: Meters
  readonly opening: Opening
  /** Reads orders by id, many at a time: a crowd that asks again costs a few statements, not one each. */
  readonly finder: Batcher<OrderId, Order | undefined>
  /** The same by attempt, where the gate can't be asked; without it one statement each. */
  readonly attempts?: Batcher<AttemptKey, Order | undefined>
  /** Undefined: the gate is in the process, and nobody is told "reserved". */
  readonly reserved?: TakeReservedParts
}

const ATTEMPTS_USED: Refusal = Object.freeze({ kind: 'attempts_used' })

type Repeated = Extract<TakeOrderOutcome, { kind: 'same' | 'same_reserved' | 'busy' }>

/** A gate elsewhere may find that it is a moment earlier than we thought: so often is the opening waited for once more. */
const TOO_EARLY_MAX = 3
const TOO_EARLY_MS = 5

/**
 * The gate's "no" without a promise, where it is in the process and would say so to whoever asked it now: nobody waits before this
 * click, and nothing is on its way into the ledger. Undefined: take the order. A "no" that takes nothing needs no order id.
 */
export function refuseNow(
  { near }: Pick<TakeOrderParts, 'near'>,
  liveItem: LiveItem,
  click: Click,
): Refusal | undefined {
  const { item, epoch, line, unsettled, current, skewed } = liveItem
  if (near.refusal === undefined || !current || skewed || unsettled.size > 0 || line.depth() > 0) return undefined
  const refused = near.refusal(item.id, epoch, click)
  if (refused !== 'not_enough') return refused && ATTEMPTS_USED
  const left = near.statusNow(item.id)?.left
  return left === undefined || left === 0 ? undefined : { kind: 'not_enough', left }
}

export async function takeOrder(parts: TakeOrderParts, liveItem: LiveItem, click: Click): Promise<TakeOrderOutcome> {
  let refused = standing(parts.near, liveItem)
  if (refused?.kind === 'early') refused = await admissible(parts, liveItem)
  if (refused !== undefined) return refused

  let order: OrderId
  try {
    order = parts.ids.next()
  } catch (error) {
    if (error instanceof Fault) return BUSY
    throw error
  }
  const clickedAtMs = parts.clock.elapsed()
  const { buyer, attempt, quantity } = click
  const ask = { order, buyer, attempt, quantity, askedAtMs: parts.clock.now() }
  let decision = await liveItem.line.join(ask)
  // Nothing was taken, so the same id asks again.
  for (let i = 0; i < TOO_EARLY_MAX && decision?.kind === 'early' && isNear(parts, decision.opensAtMs); i++) {
    await parts.opening.wait(liveItem.item.id, TOO_EARLY_MS)
    decision = await liveItem.line.join(ask)
  }
  if (decision === undefined) return BUSY
  const outcome = decision.kind === 'reserved' ? await awaitPlaced(parts, liveItem, decision.reservation) : decision
  if (outcome.kind === 'placed') parts.meters.time('click_to_row', parts.clock.elapsed() - clickedAtMs)

  const before = faultPoint('answer.before')
  if (before) await before
  return outcome.kind === 'existing' ? sameOrder(parts, liveItem, click.buyer, outcome.order) : outcome
}

/** Waits for the opening when it is about to come; otherwise what stands in the way, if anything does. */
async function admissible(parts: TakeOrderParts, liveItem: LiveItem): Promise<Refusal | undefined> {
  for (;;) {
    const refused = standing(parts.near, liveItem)
    if (refused?.kind !== 'early' || !isNear(parts, refused.opensAtMs)) return refused
    const waited = parts.opening.wait(liveItem.item.id, refused.opensAtMs - parts.near.nowMs())
    if (waited === undefined) return BUSY
    await waited
  }
}

function isNear({ near }: TakeOrderParts, opensAtMs: number): boolean {
  return opensAtMs - near.nowMs() <= EARLY_WAIT_MS
}

/** A moment for the worker: placed is a better answer than reserved, and costs the buyer less than asking again. */
async function awaitPlaced(
  parts: TakeOrderParts,
  liveItem: LiveItem,
  reservation: Reservation,
): Promise<TakeOrderOutcome> {
  const row = await parts.reserved?.waiters.wait(reservation.id)
  if (row === undefined) {
    parts.reserved?.messages.orderReserved(reservation)
    return { kind: 'reserved', reservation }
  }
  if (row.reason !== 'refused') return { kind: 'placed', order: row }
  return row.supersededBy === undefined ? SOLD_OUT : sameOrder(parts, liveItem, reservation.buyer, row.supersededBy)
}

/**
 * The order that this buyer's attempt led to earlier, if any. `busy`: there may be one, but it can't be read now.
 * Asks the gate where it has the item, and the ledger where it has not (a sale long over, an attempt of another epoch, the ledger's door).
 */
export async function repeatOrder(
  parts: TakeOrderParts,
  liveItem: LiveItem | undefined,
  item: ItemId,
  buyer: BuyerId,
  attempt: number,
): Promise<Repeated | undefined> {
  try {
    if (liveItem?.door === 'ledger') return inLedger(await byAttempt(parts, item, buyer, attempt))
    const found = await parts.gate.find(item, buyer)
    if (found.status === 'ok') {
      const holding = found.holdings.find(held => held.attempt === attempt)
      return holding === undefined ? undefined : await sameHolding(parts, liveItem, holding)
    }
    const order = await byAttempt(parts, item, buyer, attempt)
    if (order !== undefined) return inLedger(order)
    const told = parts.reserved?.acknowledged.ofBuyer(buyer).find(one => one.item === item && one.attempt === attempt)
    if (told !== undefined) return { kind: 'same_reserved', reservation: told }
    // The gate alone knows of what is not in the ledger yet, and it does not answer: this buyer may be one of those.
    if (isFollowed(liveItem) && standing(parts.near, liveItem)?.kind !== 'over') return { kind: 'busy' }
    // Over, but what was reserved before may still be on its way.
    return (await parts.reserved?.unplaced.maybe(item)) ? { kind: 'busy' } : undefined
  } catch (error) {
    if (error instanceof Fault) return { kind: 'busy' }
    throw error
  }
}

function inLedger(order: Order | undefined): Repeated | undefined {
  return order === undefined ? undefined : { kind: 'same', order }
}

/** Where too many wait to be read, the fault says so: that nobody could look does not mean that nothing is there. */
async function byId(parts: TakeOrderParts, id: OrderId): Promise<Order | undefined> {
  return parts.finder.join(id) ?? tooMany()
}

function byAttempt(parts: TakeOrderParts, item: ItemId, buyer: BuyerId, attempt: number): Promise<Order | undefined> {
  if (parts.attempts === undefined) return parts.orders.findByAttempt(item, buyer, attempt)
  return parts.attempts.join({ item, buyer, attempt }) ?? tooMany()
}

function tooMany(): never {
  throw new Fault('line_full', 'too many wait to be read', { retryable: true })
}

/**
 * What the gate knows of this attempt, first as the ledger has it. Not there yet: asked through the line as if anew, so that the gate says
 * `same` in a call that makes it last as long as what it says to a new buyer (E11).
 */
async function sameHolding(parts: TakeOrderParts, liveItem: LiveItem | undefined, held: Holding): Promise<Repeated> {
  const order = await byId(parts, held.order)
  if (order !== undefined) return { kind: 'same', order }
  if (parts.reserved === undefined || liveItem === undefined || !held.live) return { kind: 'busy' }
  const { buyer, attempt, quantity } = held
  const ask = { order: parts.ids.next(), buyer, attempt, quantity, askedAtMs: parts.clock.now() }
  const decision = await liveItem.line.join(ask)
  if (decision?.kind === 'existing') return sameOrder(parts, liveItem, buyer, decision.order)
  if (decision?.kind !== 'reserved') return { kind: 'busy' }
  // It was refused and forgotten meanwhile, and there was another unit: this very click has reserved it.
  parts.reserved.waiters.forget(decision.reservation.id)
  return { kind: 'same_reserved', reservation: decision.reservation }
}

/** An order that stands, known by its id. Read from the ledger, or where it is not there yet, from the gate. */
async function sameOrder(parts: TakeOrderParts, liveItem: LiveItem, buyer: BuyerId, id: OrderId): Promise<Repeated> {
  try {
    const order = await byId(parts, id)
    if (order !== undefined) return { kind: 'same', order }
    // Behind a gate in the process it is unsettled: asking again in a moment settles it.
    return parts.reserved === undefined
      ? { kind: 'busy' }
      : await sameReserved(parts, parts.reserved, liveItem, buyer, id)
  } catch (error) {
    if (error instanceof Fault) return { kind: 'busy' }
    throw error
  }
}

/** Told again, it is acknowledged again: within the fence (E2), and remembered like the first time (E6), with the holding's own attempt. */
async function sameReserved(
  parts: TakeOrderParts,
  reserved: TakeReservedParts,
  liveItem: LiveItem,
  buyer: BuyerId,
  id: OrderId,
): Promise<Repeated> {
  const known = reserved.acknowledged.find(id)?.reservation
  const reservation = known ?? (await heldAtGate(parts, liveItem, buyer, id))
  if (reservation === undefined || reservation.buyer !== buyer) return { kind: 'busy' }
  // Read after the gate: what has been placed since is never shown as less than that.
  const order = await byId(parts, id)
  if (order !== undefined) return { kind: 'same', order }
  const { acknowledged, fenceMs } = reserved
  return acknowledge({ acknowledged, fenceMs, clock: parts.clock }, liveItem, reservation)
    ? { kind: 'same_reserved', reservation }
    : { kind: 'busy' }
}

async function heldAtGate(
  parts: TakeOrderParts,
  { sale, item }: LiveItem,
  buyer: BuyerId,
  id: OrderId,
): Promise<Reservation | undefined> {
  const found = await parts.gate.find(item.id, buyer)
  const held = found.status === 'ok' ? found.holdings.find(one => one.order === id && one.live) : undefined
  return held === undefined ? undefined : toReservation(sale, item, held)
}
