import { describe, expect, test } from 'bun:test'
import type { Reservation } from '../../domain/order.ts'
import { createAcknowledgedReservations } from './acknowledged-reservations.ts'

function reservation(id: string, item = '71'): Reservation {
  const price = { amount: 100, currency: 'CNY' }
  return {
    id,
    sale: '7',
    item,
    buyer: `buyer ${id}`,
    attempt: 1,
    quantity: 1,
    price,
    state: 'reserved',
    reservedAtMs: 0,
  }
}

describe('what was acknowledged', () => {
  test('never outgrows its bound: booked room counts until it is given back', () => {
    const held = createAcknowledgedReservations(3)
    expect(held.book(2)).toBe(true)
    expect(held.book(2)).toBe(false)
    held.remember(1, reservation('1'), 10)
    held.unbook(2)
    expect(held.book(2)).toBe(true)
    expect(held.book(1)).toBe(false)
  })

  test('is told apart by epoch, oldest first, and nothing else is older', () => {
    const held = createAcknowledgedReservations(10)
    held.remember(4, reservation('1'), 10)
    held.remember(2, reservation('2'), 10)
    held.remember(4, reservation('3', '72'), 10)
    expect(held.olderThan('71', 5).map(({ epoch, reservations }) => [epoch, reservations.map(one => one.id)])).toEqual([
      [2, ['2']],
      [4, ['1']],
    ])
    expect(held.olderThan('71', 4).map(one => one.epoch)).toEqual([2])
    expect([held.holdsOlder('71', 2), held.holdsOlder('71', 3), held.holdsOlder('72', 4)]).toEqual([false, true, false])
    expect(held.ofBuyer('buyer 2').map(one => one.id)).toEqual(['2'])
    held.settled('2')
    expect(held.ofBuyer('buyer 2')).toEqual([])
    expect(held.holdsOlder('71', 3)).toBe(false)
    expect(held.items()).toEqual(['71', '72'])
  })

  test('remembered again keeps the epoch of the first time', () => {
    const held = createAcknowledgedReservations(10)
    held.remember(2, reservation('1'), 10)
    held.remember(3, reservation('1'), 10)
    expect(held.find('1')?.epoch).toBe(2)
    expect(held.size()).toBe(1)
  })

  test('what is due is looked for in turn: those not found wait behind the others', () => {
    const held = createAcknowledgedReservations(10)
    for (const id of ['1', '2', '3']) held.remember(1, reservation(id), 10)
    held.remember(1, reservation('4'), 20)
    expect(held.due(9, 2, 30)).toEqual([])
    expect(held.due(10, 2, 30)).toEqual(['1', '2'])
    expect(held.due(10, 2, 30)).toEqual(['3'])
    expect(held.due(20, 5, 40)).toEqual(['4'])
    expect(held.due(30, 5, 50)).toEqual(['1', '2', '3'])
  })
})
