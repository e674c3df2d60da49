/** The arguments of every gate, checked before anything changes or is sent: a bug of the caller leaves no trace. Scripts check them once more. */

import { assert } from '../base/assert.ts'
import { BUYER_LENGTH_MAX, type BuyerId, type Epoch, type ItemId, isId, type OrderId } from '../domain/ids.ts'
import type { Ask, Holding, Release, Terms, WindowState } from './gate.ts'

/** From 0 on. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** From 1 on. */
export function isNumber(value: unknown): value is number {
  return isCount(value) && value !== 0
}

/** Braces would end the hash tag early and let one item write into another's keys. */
export function checkItem(item: ItemId): void {
  assert(item.length >= 1 && !/[{}]/.test(item), `"${item}" is not an item id`)
}

/** `from` is 0 where any epoch may be asked for, 1 where one begins. */
export function checkEpoch(item: ItemId, epoch: Epoch, from: 0 | 1): void {
  checkItem(item)
  assert(Number.isSafeInteger(epoch) && epoch >= from, `epoch ${epoch} of item ${item}`)
}

export function checkBuyer(buyer: BuyerId): void {
  if (!(buyer.length >= 1 && buyer.length <= BUYER_LENGTH_MAX)) assert(false, `a buyer id of length ${buyer.length}`)
  // Half a character becomes the same bytes as any other half: two buyers would be one.
  if (!buyer.isWellFormed()) assert(false, 'a buyer id with half a character')
}

function checkAttempt(order: OrderId, buyer: BuyerId, attempt: number): void {
  if (!isId(order)) assert(false, `"${order}" is not an order id`)
  checkBuyer(buyer)
  if (!isNumber(attempt)) assert(false, `attempt ${attempt}`)
}

export function checkAsk(ask: Ask): void {
  checkAttempt(ask.order, ask.buyer, ask.attempt)
  if (!isNumber(ask.quantity)) assert(false, `an ask for ${ask.quantity} units`)
}

export function checkRelease({ order, buyer, attempt, outcome }: Release): void {
  checkAttempt(order, buyer, attempt)
  const known = outcome === 'closed' || outcome === 'refused' || outcome === 'gone'
  assert(known, `release of order ${order} as "${outcome}"`)
}

export function checkHolding({ order, buyer, attempt, quantity, live, reservedAtMs }: Holding): void {
  checkAttempt(order, buyer, attempt)
  assert(isNumber(quantity), `quantity ${quantity} is loaded`)
  assert(typeof live === 'boolean', `order ${order} is loaded neither live nor closed`)
  assert(Number.isSafeInteger(reservedAtMs), `order ${order} was reserved at ${reservedAtMs}`)
}

export function checkChange(no: number, delta: number): void {
  assert(isNumber(no), `stock change number ${no}`)
  assert(Number.isSafeInteger(delta), `stock change by ${delta}`)
}

export function checkTerms(terms: Terms): void {
  for (const key of ['left', 'held', 'buyers', 'changeNo'] as const)
    assert(isCount(terms[key]), `terms with ${key} ${terms[key]}`)
  assert(isNumber(terms.attemptsMax), `terms with attemptsMax ${terms.attemptsMax}`)
  checkWindowState(terms)
}

export function checkWindowState({ stateNo, state, opensAtMs, closesAtMs }: WindowState): void {
  assert(isCount(stateNo), `state number ${stateNo}`)
  assert(state === 'open' || state === 'paused' || state === 'over', `an item that is "${state}"`)
  const window = Number.isSafeInteger(opensAtMs) && Number.isSafeInteger(closesAtMs) && opensAtMs < closesAtMs
  assert(window, `a window from ${opensAtMs} to ${closesAtMs}`)
}
