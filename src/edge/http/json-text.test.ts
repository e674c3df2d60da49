import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { faultOfJson } from './json-text.ts'

test('finds a key that stands twice in one object, however it is written, and only there', () => {
  for (const [text, field] of [
    ['{"a":1,"a":2}', 'a'],
    ['{"a":1,"\\u0061":2}', 'a'],
    ['[{"x":{"b" : 1 ,\n"b":1}}]', 'b'],
    ['{"":1,"":2}', ''],
    ['{"\\"":1,"\\u0022":2}', '"'],
  ] as const)
    expect(faultOfJson(text)?.field).toBe(field)
  for (const text of [
    '{"a":"a","b":["a","a"]}',
    '[{"a":1},{"a":2}]',
    '{"a":{"a":{"a":1}}}',
    '{"a":":\\"a\\":"}',
    '"a"',
    '1',
  ])
    expect(faultOfJson(text)).toBeUndefined()
})

test('finds nesting beyond 32', () => {
  expect(faultOfJson(`${'['.repeat(32)}${']'.repeat(32)}`)).toBeUndefined()
  expect(faultOfJson(`${'['.repeat(33)}${']'.repeat(33)}`)?.detail).toContain('deep')
  expect(faultOfJson(`{"a":"${'['.repeat(99)}"}`)).toBeUndefined()
})

test('finds nothing in what JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5, noUnicodeString: false }), value => {
      expect(faultOfJson(JSON.stringify(value))).toBeUndefined()
      expect(faultOfJson(JSON.stringify(value, undefined, 2))).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})
