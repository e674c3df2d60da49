import { expect, test } from 'bun:test'
import { PAYING_FOR_MS, payStanding } from './pay-standing.ts'

const payment = (state: 'started' | 'declined' | 'expired' | 'captured' | 'refunded', qr?: string) => ({
  provider: 'alipay',
  method: 'page',
  state,
  qr,
})

test('waits for the news of a payment that was begun, and not for ever', () => {
  expect(payStanding(payment('started'), undefined)).toBe('fresh')
  expect(payStanding(payment('started'), 0)).toBe('checking')
  expect(payStanding(payment('started'), PAYING_FOR_MS)).toBe('not_paid')
  expect(payStanding(undefined, 0)).toBe('checking')
  expect(payStanding(payment('captured'), undefined)).toBe('checking')
})

test('tells a decline and an end without money at once, however the buyer came', () => {
  for (const backForMs of [undefined, 0, PAYING_FOR_MS]) {
    expect(payStanding(payment('declined'), backForMs)).toBe('declined')
    expect(payStanding(payment('declined', 'code'), backForMs)).toBe('declined')
    expect(payStanding(payment('expired'), backForMs)).toBe('expired')
  }
})

test('shows an open code again after a reload', () => {
  expect(payStanding(payment('started', 'https://qr.example/1'), undefined)).toBe('code')
  expect(payStanding(payment('started', 'https://qr.example/1'), 0)).toBe('code')
})
