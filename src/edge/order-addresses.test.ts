import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createOrderAddresses, pathOf } from './order-addresses.ts'

const HOST = 'http://shop.example:3000'

test('the address of an order names its sale and item, the same again when it was seen before', () => {
  const find = createOrderAddresses()
  for (let i = 0; i < 3; i++) {
    expect(find(`${HOST}/api/sales/12/items/34/orders`)).toEqual({ sale: '12', item: '34' })
    expect(find(`${HOST}/api/sales/12/items/34/orders?a=/x`)).toEqual({ sale: '12', item: '34' })
    expect(find(`https://s/api/sales/1/items/x/y/orders`)).toEqual({ sale: '1', item: 'x/y' })
  }
})

test('any other address names none, however often it is asked for', () => {
  const find = createOrderAddresses()
  for (const url of [
    '',
    HOST,
    `${HOST}/`,
    `${HOST}/api/sales`,
    `${HOST}/api/sales/12/items/34`,
    `${HOST}/api/sales/12/items//orders`,
    `${HOST}/api/sales/12/orders`,
    `${HOST}/api/sales/12/thing/34/orders`,
    `${HOST}/x/api/sales/12/items/34/orders`,
    `${HOST}/api/sales/12/items/34/orders/`,
    `${HOST}/?/api/sales/12/items/34/orders`,
  ]) {
    expect(find(url)).toBeUndefined()
    expect(find(url)).toBeUndefined()
  }
})

test('remembering changes no answer, also when far more addresses come than are kept', () => {
  const known = createOrderAddresses()
  fc.assert(
    fc.property(fc.constantFrom('1', '22', '333'), fc.string({ maxLength: 8 }), fc.nat(5_000), (sale, item, query) => {
      const url = `${HOST}/api/sales/${sale}/items/${item}/orders?${query}`
      expect(known(url)).toEqual(createOrderAddresses()(url))
    }),
    { numRuns: 5_000 },
  )
  for (let i = 0; i < 3_000; i++) expect(known(`${HOST}/api/sales/${i}/items/7/orders`)?.sale).toBe(String(i))
  expect(known(`${HOST}/api/sales/1/items/7/orders?${'x'.repeat(500)}`)).toEqual({ sale: '1', item: '7' })
})

test('a path stands between host and query', () => {
  expect(pathOf('http://h/a/b?c=/d')).toBe('/a/b')
  expect(pathOf('http://h/')).toBe('/')
  expect(pathOf('http://h')).toBe('/')
})
