import { expect, test } from 'bun:test'
import { systemClock } from '../base/clock.ts'
import type { AccessEntry } from '../domain/access-entry.ts'
import { AccessLists, checkAccessValue } from './access-lists.ts'
import { createClientAddress } from './client-address.ts'
import { createHoldKeys, marksIn } from './hold-keys.ts'

let nowMs = 1_000_000
const clock = { ...systemClock, now: () => nowMs }
let ids = 0
const entry = (
  kind: 'deny' | 'allow',
  subject: AccessEntry['subject'],
  value: string,
  untilMs?: number,
): AccessEntry => ({
  id: String(++ids),
  kind,
  subject,
  value,
  untilMs,
  reason: undefined,
  by: 'test',
  atMs: 0,
})
function listOf(...entries: AccessEntry[]): AccessLists {
  const lists = new AccessLists(clock)
  lists.replace(entries)
  return lists
}
/** The key that a request from there has. */
const { of } = createClientAddress('')
const keyOf = (address: string) => of(address, null)

test('an empty list has no opinion', () => {
  const lists = listOf()
  expect([lists.ofAddress('192.0.2.1'), lists.ofBuyer('ann'), lists.ofClaims({ age: 1 })]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

test('a range denies all addresses in it and no other; the narrower entry wins, and deny between equals', () => {
  const lists = listOf(
    entry('deny', 'prefix', '203.0.113.0/24'),
    entry('allow', 'address', '203.0.113.7'),
    entry('deny', 'prefix', '2001:db8::/32'),
    entry('allow', 'prefix', '2001:db8:5::/48'),
    entry('deny', 'address', '192.0.2.9'),
    entry('allow', 'prefix', '192.0.2.9/32'),
  )
  const ask = (address: string) => lists.ofAddress(keyOf(address))
  expect(['203.0.113.1', '203.0.113.255', '203.0.112.255', '203.0.114.0'].map(ask)).toEqual([
    'deny',
    'deny',
    undefined,
    undefined,
  ])
  expect([ask('203.0.113.7'), ask('::ffff:203.0.113.7')]).toEqual(['allow', 'allow'])
  expect([ask('2001:db8:1::5'), ask('2001:db8:5:1::5'), ask('2001:db9::1')]).toEqual(['deny', 'allow', undefined])
  expect(ask('192.0.2.9')).toBe('deny')
})

test('odd lengths are masked to the bit', () => {
  const lists = listOf(entry('deny', 'prefix', '198.51.100.128/25'), entry('deny', 'prefix', '2001:db8:8000::/33'))
  expect(['198.51.100.127', '198.51.100.128', '198.51.101.128'].map(one => lists.ofAddress(keyOf(one)))).toEqual([
    undefined,
    'deny',
    undefined,
  ])
  expect(lists.ofAddress(keyOf('2001:db8:7fff::1'))).toBeUndefined()
  expect(lists.ofAddress(keyOf('2001:db8:ffff::1'))).toBe('deny')
})

test('an entry ends at its moment, also for an address that was asked before, and lets the wider one through', () => {
  const lists = listOf(
    entry('allow', 'address', '203.0.113.7', nowMs + 1_000),
    entry('deny', 'prefix', '203.0.113.0/24'),
  )
  expect(lists.ofAddress('203.0.113.7')).toBe('allow')
  nowMs += 1_001
  expect(lists.ofAddress('203.0.113.7')).toBe('deny')
  lists.replace([])
  expect(lists.ofAddress('203.0.113.7')).toBeUndefined()
})

test('buyers and claims are told apart; any denied claim denies', () => {
  const lists = listOf(
    entry('deny', 'buyer', 'bot-1'),
    entry('deny', 'claim', 'phone=none'),
    entry('allow', 'claim', 'staff=true'),
  )
  expect([lists.ofBuyer('bot-1'), lists.ofBuyer('phone=none'), lists.ofBuyer('ann')]).toEqual([
    'deny',
    undefined,
    undefined,
  ])
  expect(lists.knowsClaims).toBe(true)
  expect(lists.ofClaims({ phone: 'none', staff: true })).toBe('deny')
  expect(lists.ofClaims({ phone: '123', staff: true })).toBe('allow')
  expect(lists.ofClaims({})).toBeUndefined()
})

test('values that could never match are refused when they are written', () => {
  const bad: [AccessEntry['subject'], string][] = [
    ['address', '203.0.113.0/24'],
    ['address', 'localhost'],
    ['address', '1.2.3'],
    ['prefix', '203.0.113.0/33'],
    ['prefix', '/24'],
    ['claim', 'phone'],
    ['claim', '=x'],
    ['buyer', ' '],
  ]
  for (const [subject, value] of bad) expect([value, checkAccessValue(subject, value)]).not.toEqual([value, undefined])
  expect(checkAccessValue('prefix', '203.0.113.0/24')).toBeUndefined()
  expect(checkAccessValue('address', '2001:db8::1')).toBeUndefined()
  expect(checkAccessValue('claim', 'phone=')).toBeDefined()
  expect(checkAccessValue('buyer', 'ann')).toBeUndefined()
})

test('a ticket is judged by its buyer and by the claims that it carries, and deny wins', () => {
  const keys = createHoldKeys('a secret of more than 16 bytes')
  const lists = new AccessLists(clock, keys)
  const marks = keys.marksOf({ phone: 55, staff: true, age: 7 }, ['phone', 'staff', 'phone'])
  const of = (buyer = 'ann', carried = marks) => lists.ofTicket({ buyer, marks: carried })
  expect(of()).toBeUndefined()
  lists.replace([entry('allow', 'claim', 'staff=true'), entry('deny', 'claim', 'age=7')])
  expect([of(), of('ann', ''), of('ann', keys.marksOf({ staff: false }, ['staff']))]).toEqual([
    'allow',
    undefined,
    undefined,
  ])
  lists.replace([entry('allow', 'claim', 'staff=true'), entry('deny', 'claim', 'phone=55')])
  expect(of()).toBe('deny')
  lists.replace([entry('allow', 'claim', 'phone=55'), entry('deny', 'buyer', 'ann')])
  expect([of('ann'), of('bob')]).toEqual(['deny', 'allow'])
  lists.replace([entry('deny', 'claim', 'phone=55', nowMs + 1_000)])
  expect(of()).toBe('deny')
  nowMs += 1_000
  expect(of()).toBeUndefined()
})

test('a ticket has room for some claims only: those of the sale come first, and each fits', () => {
  const keys = createHoldKeys('a secret of more than 16 bytes')
  const names = Array.from({ length: 9 }, (_, n) => `${'claim'.repeat(4)}_x_${n}`)
  const claims = { short: 1, ...Object.fromEntries(names.map(name => [name, 'x'])) }
  const marks = keys.marksOf(claims, [...names, 'not-a-name', 'toString', 'short'])!
  expect(marks.length).toBeLessThanOrEqual(160)
  expect(marksIn(marks).map(({ name }) => name)).toEqual([...names.slice(0, 3), 'short'])
})
