import { describe, expect, test } from 'bun:test'
import { saleEdit, saleInput } from '../../wire/inputs.ts'
import { toNewSale } from './sale-input.ts'

const item = { name: 'phone', price: { amount: 100, currency: 'CNY' }, units: 5 }
const sale = { name: 'sale', opensAt: '2030-01-01T00:00:00Z', closesAt: '2030-01-02T00:00:00Z' }

describe('the door an item lives behind', () => {
  test('is the gate unless the operator says the ledger, and nothing else', () => {
    const doorOf = (more: object) =>
      toNewSale(saleInput.parse({ ...sale, items: [{ ...item, ...more }] })).items[0]?.homeDoor
    expect(doorOf({})).toBe('gate')
    expect(doorOf({ door: 'gate' })).toBe('gate')
    expect(doorOf({ door: 'ledger' })).toBe('ledger')
    for (const door of ['shut', 'draining', '', null])
      expect(saleInput.safeParse({ ...sale, items: [{ ...item, door }] }).success).toBe(false)
  })

  test('can be named in an edit, and is left alone when it is not', () => {
    expect(saleEdit.parse({ items: [{ door: 'ledger' }] }).items?.[0]?.door).toBe('ledger')
    expect(saleEdit.parse({ items: [{}] }).items?.[0]?.door).toBeUndefined()
  })
})

test('an item has one shard unless the operator says more, and 64 at most', () => {
  const shardsOf = (more: object) =>
    toNewSale(saleInput.parse({ ...sale, items: [{ ...item, ...more }] })).items[0]?.shards
  expect([shardsOf({}), shardsOf({ shards: 1 }), shardsOf({ shards: 64 })]).toEqual([1, 1, 64])
  for (const shards of [0, 65, 1.5, '2', null])
    expect(saleInput.safeParse({ ...sale, items: [{ ...item, shards }] }).success).toBe(false)
})
