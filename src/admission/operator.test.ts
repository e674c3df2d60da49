import { expect, test } from 'bun:test'
import { createOperators, readOperator } from './operator.ts'

const operators = createOperators([
  { name: 'night-shift', role: 'operator', token: 'a long token' },
  { name: 'day.shift@shop', role: 'viewer', token: 'another long token' },
])

test('an operator is known by the token, under the name that goes into the log', () => {
  expect(operators.verify('a long token')).toEqual({ name: 'night-shift', role: 'operator' })
  expect(operators.verify('another long token')).toEqual({ name: 'day.shift@shop', role: 'viewer' })
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
  const night = { name: 'night', role: 'admin', token: 'hunter2' } as const
  const wrong = [
    { name: '', token: 'hunter2' },
    { name: 'a\nb', token: 'hunter2' },
    { name: 'day', token: '' },
    { name: 'day', token: 'hunter2' },
    { name: 'night', token: 'hunter3' },
  ]
  for (const one of wrong) {
    const operator = { ...one, role: 'viewer' } as const
    expect(() => createOperators([night, operator])).toThrow('operator 2')
    expect(() => createOperators([night, operator])).not.toThrow(/hunter2/)
  }
})

test('the second part of an entry is a role only if it is one of the three', () => {
  expect(readOperator('ann:viewer:secret')).toEqual({ name: 'ann', role: 'viewer', token: 'secret' })
  expect(readOperator(' ann : operator : se:cret ')).toEqual({ name: 'ann', role: 'operator', token: 'se:cret' })
  expect(readOperator('ann:admin:secret')).toEqual({ name: 'ann', role: 'admin', token: 'secret' })
  for (const token of ['secret', 'owner:secret', 'Viewer:secret', 'viewer', ':secret', 'viewers:x'])
    expect(readOperator(`ann:${token}`)).toEqual({ name: 'ann', role: 'admin', token })
  expect(readOperator('ann')).toEqual({ name: 'ann', role: 'admin', token: '' })
})
