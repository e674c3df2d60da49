/** Money is an integer of minor units with a currency code. No arithmetic on anything else. */

import { assert } from '../base/assert.ts'

export interface Money {
  readonly amount: number
  readonly currency: string
}

/** Large enough for any order: no price and no payment may be more. */
export const AMOUNT_MAX = 1_000_000_000_000

/** Can an order of so many be paid at this price? */
export function isPayable(price: Money, quantity: number): boolean {
  return price.amount * quantity <= AMOUNT_MAX
}

export const NOT_PAYABLE = `is too many at this price: an order may amount to at most ${AMOUNT_MAX} minor units, and a larger one could not be paid`

export function times(price: Money, quantity: number): Money {
  const amount = price.amount * quantity
  assert(Number.isSafeInteger(amount) && amount >= 0, `${price.amount} × ${quantity} is not an exact amount`)
  return { amount, currency: price.currency }
}

export function isSameMoney(a: Money, b: Money): boolean {
  return a.amount === b.amount && a.currency === b.currency
}
