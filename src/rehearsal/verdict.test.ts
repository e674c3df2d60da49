import { expect, test } from 'bun:test'
import type { Books } from './facts.ts'
import { judge } from './verdict.ts'

type Evidence = Parameters<typeof judge>[0]

const AUDIT: Books['audit'] = {
  item: '7',
  units: 2,
  available: 0,
  pending: 1,
  paid: 1,
  closed: 0,
  gate: { left: 0, held: 2 },
  outbox: 0,
  releases: 0,
  door: 'gate',
  epoch: 1,
  consistent: true,
}

/** Two units, three buyers; the rows were not read, so only the sums speak. */
function books(audit: Partial<Books['audit']> = {}): Books {
  const { gate, closed: _, consistent: __, ...line } = { ...AUDIT, ...audit }
  const items = [
    { ...line, rule: 'first_come' as const, gate: gate ?? undefined, oldestReleaseMs: undefined, changes: [] },
  ]
  const refusals = { refusedAtEdge: 0, networkCalls: 0 }
  const snapshot = { quiet: true, items, orders: undefined, told: [], payments: [], bounds: [], refusals }
  return { audit: { ...AUDIT, ...audit }, orders: [], snapshot }
}

const GOOD: Evidence = {
  units: 2,
  buyers: { all: 3, answered: 3, withOrder: 2, refused: 1, unanswered: 0 },
  books: books(),
  unexpected: {},
  partial: null,
  p99: 12.3,
  lastAnswerMs: 2_345,
}

const reasons = (more: Partial<Evidence>) => judge({ ...GOOD, ...more }).reasons.join('\n')

test('a sale that kept every promise is green, in one sentence', () => {
  const { verdict, sentence } = judge(GOOD)
  expect({ verdict, sentence }).toEqual({
    verdict: 'green',
    sentence: 'sold 2 of 2, no oversell, nothing lost, p99 12 ms, everyone answered within 2.35 s',
  })
})

test('fewer buyers than units: sold is what was wanted', () => {
  const left = books({ units: 9, available: 7, gate: { left: 7, held: 2 } })
  const buyers = { all: 2, answered: 2, withOrder: 2, refused: 0, unanswered: 0 }
  expect(judge({ ...GOOD, units: 9, buyers, books: left }).verdict).toBe('green')
})

test('who gave the order back is not missing from what was sold', () => {
  const left = books({ units: 9, available: 8, pending: 0, closed: 1, gate: { left: 8, held: 1 } })
  const buyers = { all: 2, answered: 2, withOrder: 2, refused: 0, unanswered: 0 }
  expect(judge({ ...GOOD, units: 9, buyers, books: left }).reasons).toEqual([])
})

test('every way to fail is red and says why', () => {
  expect(reasons({ books: books({ paid: 2 }) })).toContain('promise 1 is broken')
  expect(reasons({ books: books({ available: 1, pending: 0, gate: { left: 1, held: 1 } }) })).toContain('sold 1 of 2')
  expect(reasons({ books: books({ consistent: false }) })).toContain('does not add up')
  expect(reasons({ books: undefined })).toContain('books could not be read')
  expect(reasons({ buyers: { ...GOOD.buyers, answered: 2, unanswered: 1 } })).toContain('1 buyers have no final answer')
  expect(reasons({ unexpected: { '500 internal': 3 } })).toContain('3 answers that no buyer should get: 500 internal')
  expect(reasons({ partial: 'interrupted' })).toContain('interrupted')
  expect(judge({ ...GOOD, partial: 'interrupted' }).verdict).toBe('red')
})
