import { describe, expect, test } from 'bun:test'
import { fromStripeAmount, isChargeable, toStripeAmount } from './stripe-money.ts'

describe("Stripe's amounts", () => {
  const pairs = [
    ['USD', 1_099, 1_099],
    ['JPY', 500, 500],
    ['ISK', 5, 500],
    ['UGX', 5, 500],
    ['MGA', 500, 5],
    ['KWD', 5_120, 5_120],
    ['HUF', 1_045, 1_045],
    ['TWD', 80_045, 80_045],
  ] as const

  test("are counted with Stripe's decimals, there and back", () => {
    for (const [currency, ours, theirs] of pairs) {
      expect(toStripeAmount({ amount: ours, currency })).toBe(theirs)
      expect(fromStripeAmount(theirs, currency.toLowerCase())).toEqual({ amount: ours, currency })
    }
  })

  test('that Stripe can not charge exactly are not rounded', () => {
    expect(toStripeAmount({ amount: 5_124, currency: 'KWD' })).toBeUndefined()
    expect(toStripeAmount({ amount: 550, currency: 'MGA' })).toBeUndefined()
    expect(toStripeAmount({ amount: Number.MAX_SAFE_INTEGER, currency: 'ISK' })).toBeUndefined()
  })

  test('are taken in the currencies that cards can be charged in', () => {
    for (const currency of ['USD', 'EUR', 'CNY', 'JPY', 'KWD', 'TND', 'UGX']) expect(isChargeable(currency)).toBe(true)
    for (const currency of ['IQD', 'LYD', 'KPW', 'BTC', 'usd', '']) expect(isChargeable(currency)).toBe(false)
  })
})
