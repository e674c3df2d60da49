/** Which providers a sale offers, and when it can't be published. */

import { expect, test } from 'bun:test'
import { choiceFault, currencyFault, offeredBy, type Providers } from './payment-offer.ts'

const provider = (name: string, ...currencies: string[]) => ({
  name,
  methods: [{ name: 'page', qr: false }],
  takes: (currency: string) => currencies.includes(currency),
})
const all: Providers = new Map(
  [provider('card', 'EUR', 'CNY'), provider('wallet', 'CNY')].map(one => [one.name, one] as const),
)
const sale = (currency: string, paymentProviders?: readonly string[]) => ({
  paymentProviders,
  items: [{ price: { currency } }],
})
const namesOf = (currency: string, chosen?: readonly string[]) =>
  offeredBy(all, sale(currency, chosen)).map(({ name }) => name)

test('without a choice, all that take the currency are offered; with one, those, in its order', () => {
  expect(namesOf('CNY')).toEqual(['card', 'wallet'])
  expect(namesOf('EUR')).toEqual(['card'])
  expect(namesOf('CNY', ['wallet', 'card'])).toEqual(['wallet', 'card'])
  expect(namesOf('CNY', ['gone', 'card'])).toEqual(['card'])
})

test('a currency that a chosen provider does not take is refused; without a choice, one that none takes', () => {
  expect(currencyFault(all, sale('EUR'))).toBeUndefined()
  expect(currencyFault(all, sale('EUR', ['card']))).toBeUndefined()
  expect(currencyFault(all, sale('EUR', ['card', 'wallet']))).toBe('wallet does not take EUR')
  expect(currencyFault(all, sale('JPY'))).toBe('no payment provider takes JPY; there are: card, wallet')
})

test('a provider that only reports money is not offered, and takes the currency all the same', () => {
  const till = new Map([['shop', { ...provider('shop', 'EUR'), methods: [] }]])
  expect(offeredBy(till, sale('EUR'))).toEqual([])
  expect(currencyFault(till, sale('EUR'))).toBeUndefined()
})

test('a process without providers refuses nothing, and a name that is not configured is named', () => {
  expect(currencyFault(new Map(), sale('JPY'))).toBeUndefined()
  expect(currencyFault(new Map(), sale('JPY', ['card']))).toBeUndefined()
  expect(choiceFault(all, ['card', 'paypal'])).toBe('"paypal" is not configured here; there are: card, wallet')
  expect(choiceFault(all, undefined)).toBeUndefined()
  expect(choiceFault(all, null)).toBeUndefined()
})
