/** Money is an integer of minor units with a currency code. No arithmetic on anything else. */

import { assert } from '../base/assert.ts'

export interface Money {
  readonly amount: number
  readonly currency: string
}

/** Large enough for any price, small enough that price × quantity stays an exact integer. */
export const AMOUNT_MAX = 1_000_000_000_000

export function times(price: Money, quantity: number): Money {
  const amount = price.amount * quantity
  assert(Number.isSafeInteger(amount) && amount >= 0, `${price.amount} × ${quantity} is not an exact amount`)
  return { amount, currency: price.currency }
}

export function isSameMoney(a: Money, b: Money): boolean {
  return a.amount === b.amount && a.currency === b.currency
}
