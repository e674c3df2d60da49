import { expect, test } from 'bun:test'
import { isSameLine, type LineTerms } from './line.ts'

test('a line that differs in any of its terms is another line', () => {
  const line: LineTerms = {
    opensAtMs: 1,
    order: 'draw',
    rate: 5,
    sealsAtMs: 2,
    claimWithinMs: 3,
    beacon: { source: 'drand', round: 4 },
    claim: 'phone',
  }
  const others: { readonly [Name in keyof Required<LineTerms>]: LineTerms[Name] } = {
    opensAtMs: 2,
    order: 'arrival',
    rate: 'auto',
    sealsAtMs: undefined,
    claimWithinMs: 4,
    beacon: { source: 'drand', round: 5 },
    claim: undefined,
  }
  expect(isSameLine(line, { ...line, beacon: { ...line.beacon! } })).toBe(true)
  for (const [name, value] of Object.entries(others))
    expect([name, isSameLine(line, { ...line, [name]: value })]).toEqual([name, false])
})
