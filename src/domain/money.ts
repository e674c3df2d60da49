/**
 * Money is an integer of minor units with a currency code. No arithmetic on anything else. How many minor units make one of the currency is
 * ISO 4217's exponent: 100 for CNY, 1 for JPY, 1000 for KWD. People read and type decimal amounts, programs see minor units.
 */

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

/**
 * The exponents of ISO 4217 that are not 2. `Intl` is not asked: its table (CLDR) tells how cash is written, so it has 0 for IQD, where ISO
 * 4217 and the providers have 3, and it changes with the browser.
 */
const EXPONENTS: ReadonlyMap<string, number> = new Map(
  (
    [
      [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
      [3, 'BHD IQD JOD KWD LYD OMR TND'],
      [4, 'CLF UYW'],
    ] as const
  ).flatMap(([exponent, currencies]) => currencies.split(' ').map(currency => [currency, exponent] as const)),
)

/** The digits after the point. */
export function exponentOf(currency: string): number {
  return EXPONENTS.get(currency) ?? 2
}

/** `1999.00`, without the currency. A text: a large amount has more digits than a floating-point number keeps. */
export function toDecimal({ amount, currency }: Money): string {
  const digits = exponentOf(currency)
  const text = `${Math.abs(amount)}`.padStart(digits + 1, '0')
  const exact = digits === 0 ? text : `${text.slice(0, -digits)}.${text.slice(-digits)}`
  return amount < 0 ? `-${exact}` : exact
}

/** Minor units; undefined when the text is not an amount of this currency. */
export function fromDecimal(text: string, currency: string): number | undefined {
  const match = /^(\d+)(?:[.,](\d+))?$/.exec(text.trim())
  const digits = exponentOf(currency)
  const after = match?.[2] ?? ''
  if (match === null || after.length > digits) return undefined
  return Number(`${match[1]}${after.padEnd(digits, '0')}`)
}

/** For people, in their language: `¥1,999`, `€19.99`. A round amount is written without decimals when `short`. */
export function formatMoney(money: Money, locale: string, short = false): string {
  const digits = exponentOf(money.currency)
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: money.currency,
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    ...(short && { trailingZeroDisplay: 'stripIfInteger' }),
  })
  return format.format(toDecimal(money) as Intl.StringNumericLiteral)
}
