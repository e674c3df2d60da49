import { describe, expect, test } from 'bun:test'
import { formatMoney, fromDecimal, toDecimal } from './money.ts'

const CASES = [
  { currency: 'CNY', amount: 199_900, decimal: '1999.00', en: 'CN¥1,999.00', short: 'CN¥1,999' },
  { currency: 'EUR', amount: 5, decimal: '0.05', en: '€0.05', short: '€0.05' },
  { currency: 'JPY', amount: 1999, decimal: '1999', en: '¥1,999', short: '¥1,999' },
  { currency: 'KWD', amount: 1999, decimal: '1.999', en: 'KWD 1.999', short: 'KWD 1.999' },
  // CLDR writes it without decimals; ISO 4217 and the providers have three.
  { currency: 'IQD', amount: 1500, decimal: '1.500', en: 'IQD 1.500', short: 'IQD 1.500' },
  { currency: 'CLF', amount: 12_345, decimal: '1.2345', en: 'CLF 1.2345', short: 'CLF 1.2345' },
  {
    currency: 'CNY',
    amount: 999_999_999_999,
    decimal: '9999999999.99',
    en: 'CN¥9,999,999,999.99',
    short: 'CN¥9,999,999,999.99',
  },
  { currency: 'EUR', amount: -150, decimal: '-1.50', en: '-€1.50', short: '-€1.50' },
]

describe("an amount is written with the currency's own decimals", () => {
  for (const { decimal, en, short, ...money } of CASES) {
    test(`${money.amount} minor units of ${money.currency} are ${decimal}`, () => {
      expect(toDecimal(money)).toBe(decimal)
      // A no-break space stands between some codes and their amount.
      expect(formatMoney(money, 'en').replaceAll('\u00a0', ' ')).toBe(en)
      expect(formatMoney(money, 'en', true).replaceAll('\u00a0', ' ')).toBe(short)
      if (money.amount >= 0) expect(fromDecimal(decimal, money.currency)).toBe(money.amount)
    })
  }
})

test('what is typed is an amount of the currency, or nothing', () => {
  expect(fromDecimal(' 12,5 ', 'EUR')).toBe(1250)
  expect(fromDecimal('12', 'KWD')).toBe(12_000)
  for (const [text, currency] of [
    ['1.999', 'EUR'],
    ['1.5', 'JPY'],
    ['', 'EUR'],
    ['-1', 'EUR'],
    ['1e3', 'EUR'],
    ['1.2345', 'KWD'],
  ] as const)
    expect(fromDecimal(text, currency)).toBeUndefined()
})
