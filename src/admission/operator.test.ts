import { expect, test } from 'bun:test'
import { createOperators } from './operator.ts'

const operators = createOperators([
  { name: 'night-shift', token: 'a long token' },
  { name: 'day.shift@shop', token: 'another long token' },
])

test('an operator is known by the token, under the name that goes into the log', () => {
  expect(operators.verify('a long token')).toBe('night-shift')
  expect(operators.verify('another long token')).toBe('day.shift@shop')
})

test('any other token is refused', () => {
  for (const token of [
    '',
    'a long toke',
    'a long token ',
    'A long token',
    'night-shift',
    'night-shift:a long token',
    'x'.repeat(100_000),
  ]) {
    expect(operators.verify(token)).toBeUndefined()
  }
  expect(createOperators([]).verify('')).toBeUndefined()
})

test('operators that can not be told apart are refused at the start, without showing a token', () => {
  const night = { name: 'night', token: 'hunter2' }
  const wrong = [
    { name: '', token: 'hunter2' },
    { name: 'a\nb', token: 'hunter2' },
    { name: 'day', token: '' },
    { name: 'day', token: 'hunter2' },
  ]
  for (const operator of wrong) {
    expect(() => createOperators([night, operator])).toThrow('operator 2')
    expect(() => createOperators([night, operator])).not.toThrow(/hunter2/)
  }
})
