/**
 * One click, from admitted ask to answer. Refusals are values; only a bug throws.
 * Who has an order already is given that order, whatever else is true: `repeatOrder` is asked before anybody is refused.
 */

import type { Batcher } from '../base/batcher.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import { faultPoint } from '../base/fault-points.ts'
import type { Meters } from '../base/meters.ts'
import type { IdMaker } from '../base/snowflake.ts'
import type { BuyerId, ItemId, OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Refusal, TakeOrderOutcome } from '../domain/outcomes.ts'
import type { Gate } from '../gate/gate.ts'
import type { NearGate } from '../gate/near.ts'
import type { Orders } from '../ledger/orders.ts'
import { BUSY, EARLY_WAIT_MS, type OnSale, standing } from './on-sale.ts'
import type { Opening } from './opening.ts'

interface Click {
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
}

export interface TakeOrderParts {
  readonly gate: Gate
  readonly near: NearGate
  readonly orders: Orders
  readonly ids: Pick<IdMaker, 'next'>
  readonly clock: Clock
  readonly meters: Meters
  readonly opening: Opening
  /** Reads orders by id, many at a time: a crowd that asks again costs a few statements, not one each. */
  readonly finder: Batcher<OrderId, Order | undefined>
}

export async function takeOrder(parts: TakeOrderParts, onSale: OnSale, click: Click): Promise<TakeOrderOutcome> {
  const refused = await admissible(parts, onSale)
  if (refused !== undefined) return refused

  let order: OrderId
  try {
    order = parts.ids.next()
  } catch (error) {
    if (error instanceof Fault) return BUSY
    throw error
  }
  const clickedAtMs = parts.clock.elapsed()
  const decision = await onSale.line.join({ ...click, order, askedAtMs: parts.clock.now() })
  if (decision === undefined) return BUSY
  if (decision.kind === 'placed') parts.meters.time('click_to_row', parts.clock.elapsed() - clickedAtMs)

  const before = faultPoint('answer.before')
  if (before) await before
  return decision.kind === 'stands' ? sameOrder(parts, decision.order) : decision
}

/** Waits for the opening when it is about to come; otherwise what stands in the way, if anything does. */
async function admissible(parts: TakeOrderParts, onSale: OnSale): Promise<Refusal | undefined> {
  for (;;) {
    const refused = standing(parts.near, onSale)
    if (refused?.kind !== 'early' || refused.opensAtMs - parts.near.nowMs() > EARLY_WAIT_MS) return refused
    const waited = parts.opening.wait(onSale.item.id, refused.opensAtMs - parts.near.nowMs())
    if (waited === undefined) return BUSY
    await waited
  }
}

/**
 * The order that this buyer's attempt led to earlier, if any. `busy`: there may be one, but it can't be read now.
 * Asks the gate where it has the item, and the ledger where it has not (a sale long over, an attempt of another epoch).
 */
export async function repeatOrder(
  parts: TakeOrderParts,
  item: ItemId,
  buyer: BuyerId,
  attempt: number,
): Promise<Extract<TakeOrderOutcome, { kind: 'same' | 'busy' }> | undefined> {
  const found = await parts.gate.find(item, buyer)
  if (found.status === 'ok') {
    const holding = found.holdings.find(held => held.attempt === attempt)
    return holding === undefined ? undefined : sameOrder(parts, holding.order)
  }
  try {
    const order = await parts.orders.findByAttempt(item, buyer, attempt)
    return order === undefined ? undefined : { kind: 'same', order }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'busy' }
    throw error
  }
}

/** An order the gate knows by its id. Not in the ledger yet means unsettled: asking again in a moment settles it. */
async function sameOrder(
  parts: TakeOrderParts,
  id: OrderId,
): Promise<{ kind: 'same'; order: Order } | { kind: 'busy' }> {
  try {
    const order = await parts.finder.join(id)
    return order === undefined ? { kind: 'busy' } : { kind: 'same', order }
  } catch (error) {
    if (error instanceof Fault) return { kind: 'busy' }
    throw error
  }
}
