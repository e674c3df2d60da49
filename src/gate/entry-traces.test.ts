import { expect, test } from 'bun:test'
import { readTraces, writeTraces } from './entry-traces.ts'

test('what is written is read', () => {
  const traces = new Map([
    ['4711', '00-a-b-01'],
    ['4712', '00-c-d-01'],
  ])
  expect(readTraces(writeTraces(traces))).toEqual(traces)
  expect(writeTraces(new Map())).toBeUndefined()
})

test.each([[null], ['x'], [[]], [['a']], [['a', 1]], [['a', 'x'.repeat(1_000)]], [new Array(4_000).fill('a')], [{}]])(
  '%j is as good as missing',
  list => expect(readTraces(list)).toBeUndefined(),
)
