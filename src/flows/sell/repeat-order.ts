/**
 * The order that a buyer's attempt led to earlier. The ledger's row wins; where there is none yet, the reservation as the gate has it, told
 * under the same rules as a new one: within the fence (E2), and remembered here until it is seen in the ledger (E6).
 * `busy`: there may be an order, but it can't be read now.
 */

import { onFault } from '../../base/fault.ts'
import type { BuyerId, ItemId, OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { TakeOrderOutcome } from '../../domain/outcomes.ts'
import { ClosedSeller } from './closed-seller.ts'
import type { LiveItem } from './live-item.ts'
import type { SellContext } from './sell-context.ts'
import { type Held, type Seller, toReservation } from './seller.ts'

type Repeated = Extract<TakeOrderOutcome, { kind: 'same' | 'same_reserved' | 'busy' }>

const STILL_BUSY: Repeated = Object.freeze({ kind: 'busy' })

/** `live` is undefined where the item is not live here: not warm yet, or long over. Undefined: this attempt has led to no order. */
export function repeatOrder(
  context: SellContext,
  live: LiveItem | undefined,
  item: ItemId,
  buyer: BuyerId,
  attempt: number,
): Promise<Repeated | undefined> {
  return orBusy(async () => {
    const seller = live?.seller ?? new ClosedSeller(context, { item: { id: item } })
    const found = await seller.find(buyer)
    if (found === 'unknown') return outsideGate(context, seller, item, buyer, attempt)
    const held = found.find(one => one.attempt === attempt)
    return held && existingHolding(context, live, held)
  })
}

/** An existing order, known by its id: read from the ledger, or where it is not there yet, from the gate. */
export async function existingOrder(
  context: SellContext,
  live: LiveItem,
  buyer: BuyerId,
  id: OrderId,
): Promise<Repeated> {
  return orBusy<Repeated>(async () => {
    const order = await context.finder.byId(id)
    if (order !== undefined) return { kind: 'same', order }
    const reservation = context.acknowledged.find(id)?.reservation ?? (await reservationAtGate(live, buyer, id))
    if (reservation === undefined || reservation.buyer !== buyer) return STILL_BUSY
    // Read after the gate: what has been placed since is never shown as less than that.
    const placed = await context.finder.byId(id)
    if (placed !== undefined) return { kind: 'same', order: placed }
    return live.seller.acknowledge(reservation) ? { kind: 'same_reserved', reservation } : STILL_BUSY
  })
}

function orBusy<T extends Repeated | undefined>(read: () => Promise<T>): Promise<T | Repeated> {
  return onFault(read, () => STILL_BUSY)
}

/** The gate can't tell. A "no" is said only when every reservation of the item is in the ledger, and the ledger was read after that. */
async function outsideGate(
  context: SellContext,
  seller: Seller,
  item: ItemId,
  buyer: BuyerId,
  attempt: number,
): Promise<Repeated | undefined> {
  const order = await byAttempt()
  if (order !== undefined) return { kind: 'same', order }
  const told = context.acknowledged.ofBuyer(buyer).find(one => one.item === item && one.attempt === attempt)
  // Remembered is not told: the click that it was remembered for may have been answered "busy".
  if (told !== undefined) return seller.acknowledge(told) ? { kind: 'same_reserved', reservation: told } : STILL_BUSY
  if (await seller.outstanding()) return STILL_BUSY
  const since = await byAttempt()
  return since && { kind: 'same', order: since }

  async function byAttempt(): Promise<Order | undefined> {
    return (await context.finder.ofBuyer(item, buyer)).find(one => one.attempt === attempt)
  }
}

/**
 * An attempt that the gate or the ledger knows. Not in the ledger yet: asked through the queue as if anew, so that the gate says `same` in a
 * call that is as durable as what it says to a new buyer (E11).
 */
async function existingHolding(context: SellContext, live: LiveItem | undefined, held: Held): Promise<Repeated> {
  const order = held.row ?? (await context.finder.byId(held.order))
  if (order !== undefined) return { kind: 'same', order }
  if (live === undefined || !held.live) return STILL_BUSY
  const { buyer, attempt, quantity } = held
  const ask = { order: context.ids.next(), buyer, attempt, quantity, askedAtMs: context.clock.now() }
  const decision = await live.queue.join(ask)
  switch (decision?.kind) {
    case 'existing':
      return existingOrder(context, live, buyer, decision.order)
    // It was refused and forgotten meanwhile, and there was another unit: this very click has it.
    case 'placed':
    case 'same':
      return { kind: 'same', order: decision.order }
    case 'reserved':
      context.waiters.forget(decision.reservation.id)
      return { kind: 'same_reserved', reservation: decision.reservation }
    default:
      return STILL_BUSY
  }
}

async function reservationAtGate(
  { seller, sale, item }: LiveItem,
  buyer: BuyerId,
  id: OrderId,
): Promise<Reservation | undefined> {
  const found = await seller.find(buyer)
  const held = found === 'unknown' ? undefined : found.find(one => one.order === id && one.live)
  return held && toReservation(sale, item, held)
}
