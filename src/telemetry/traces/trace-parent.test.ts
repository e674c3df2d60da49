import { expect, test } from 'bun:test'
import { readTraceParent, writeTraceParent } from './trace-parent.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'

test('a well-formed traceparent is read, also one of a later version', () => {
  expect(readTraceParent(`00-${TRACE}-${SPAN}-01`)).toEqual({ traceId: TRACE, spanId: SPAN, sampled: true })
  expect(readTraceParent(` 00-${TRACE}-${SPAN}-00 `)).toMatchObject({ sampled: false })
  expect(readTraceParent(`cc-${TRACE}-${SPAN}-03-what comes later`)).toMatchObject({ traceId: TRACE, sampled: true })
  expect(readTraceParent(writeTraceParent({ traceId: TRACE, spanId: SPAN }))?.spanId).toBe(SPAN)
})

test.each([
  '',
  'x',
  `ff-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-${'x'.repeat(200)}`,
  `00-${TRACE}\n-${SPAN}-01`,
])('%j is none', text => expect(readTraceParent(text)).toBeUndefined())

test('no header is none', () => expect(readTraceParent(null)).toBeUndefined())
