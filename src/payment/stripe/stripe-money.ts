/**
 * Amounts as Stripe counts them, after https://docs.stripe.com/currencies. It differs from ISO 4217 in three places: ISK and UGX have two
 * decimals that are always 00, MGA has none. Of a currency with three decimals the last digit must be 0. HUF and TWD are whole only when
 * Stripe pays out to the shop's bank, which is not done here. An amount that Stripe can't charge exactly is never rounded.
 */

import { exponentOf, type Money } from '../../domain/money.ts'

const STRIPE_EXPONENTS: Readonly<Record<string, number>> = { ISK: 2, UGX: 2, MGA: 0 }

/** What cards can be charged in. Which of them an account may use depends on its country: Stripe refuses the others at the start. */
const CURRENCIES: ReadonlySet<string> = new Set(
  [
    'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CVE CZK DJF DKK',
    'DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR ISK JMD JOD JPY KES KGS KHR KMF KRW KWD KYD KZT LAK',
    'LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD',
    'RUB RWF SAR SBD SCR SEK SGD SHP SLE SOS SRD STD SZL THB TJS TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VND VUV WST XAF XCD XCG XOF XPF',
    'YER ZAR ZMW',
  ].flatMap(line => line.split(' ')),
)

export function isChargeable(currency: string): boolean {
  return CURRENCIES.has(currency)
}

/** Undefined: Stripe can't charge this amount exactly. */
export function toStripeAmount({ amount, currency }: Money): number | undefined {
  const exact = amount * 10 ** shiftOf(currency)
  const step = exponentOf(currency) === 3 ? 10 : 1
  return Number.isSafeInteger(exact) && exact % step === 0 ? exact : undefined
}

export function fromStripeAmount(amount: number, currency: string): Money {
  const code = currency.toUpperCase()
  return { amount: Math.floor(amount / 10 ** shiftOf(code)), currency: code }
}

function shiftOf(currency: string): number {
  return (STRIPE_EXPONENTS[currency] ?? exponentOf(currency)) - exponentOf(currency)
}
