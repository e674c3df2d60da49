import { describe, expect, test } from 'bun:test'
import type { PlacedOrder } from '../operator/operator.ts'
import type { Facts } from './facts.ts'
import { judge } from './verdict.ts'

type Evidence = Parameters<typeof judge>[0]

const AUDIT: Facts['audit'] = {
  item: '7',
  units: 2,
  available: 0,
  pending: 1,
  paid: 1,
  closed: 0,
  gate: { left: 0, held: 2 },
  outbox: 0,
  releases: 0,
  moving: 0,
  door: 'gate',
  epoch: 1,
  consistent: true,
  violations: [],
}

/** Two units, three buyers; the rows were not read, so only the sums speak. */
function facts(audit: Partial<Facts['audit']> = {}): Facts {
  const { gate, closed: _, consistent: __, ...line } = { ...AUDIT, ...audit }
  const items = [
    { ...line, rule: 'first_come' as const, gate: gate ?? undefined, oldestReleaseMs: undefined, changes: [] },
  ]
  const refusals = { refusedAtEdge: 0, networkCalls: 0 }
  const snapshot = { quiet: true, items, orders: undefined, told: [], payments: [], bounds: [], refusals }
  return { audit: { ...AUDIT, ...audit }, orders: [], snapshot, notJudged: new Map() }
}

const GOOD: Evidence = {
  units: 2,
  buyers: { all: 3, answered: 3, withOrder: 2, refused: 1, unanswered: 0 },
  facts: facts(),
  unexpected: {},
  partial: null,
  p99: 12.3,
  lastAnswerMs: 2_345,
  missed: null,
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
  const left = facts({ units: 9, available: 7, gate: { left: 7, held: 2 } })
  const buyers = { all: 2, answered: 2, withOrder: 2, refused: 0, unanswered: 0 }
  expect(judge({ ...GOOD, units: 9, buyers, facts: left }).verdict).toBe('green')
})

test('who gave the order back is not missing from what was sold', () => {
  const left = facts({ units: 9, available: 8, pending: 0, closed: 1, gate: { left: 8, held: 1 } })
  const buyers = { all: 2, answered: 2, withOrder: 2, refused: 0, unanswered: 0 }
  expect(judge({ ...GOOD, units: 9, buyers, facts: left }).reasons).toEqual([])
})

test('every way to fail is red and says why', () => {
  expect(reasons({ facts: facts({ paid: 2 }) })).toContain('promise 1 is broken')
  expect(reasons({ facts: facts({ available: 1, pending: 0, gate: { left: 1, held: 1 } }) })).toContain('sold 1 of 2')
  expect(reasons({ facts: facts({ consistent: false }) })).toContain('does not add up')
  expect(reasons({ facts: undefined })).toContain('could not be read')
  expect(reasons({ buyers: { ...GOOD.buyers, answered: 2, unanswered: 1 } })).toContain('1 buyers have no final answer')
  expect(reasons({ unexpected: { '500 internal': 3 } })).toContain('3 answers that no buyer should get: 500 internal')
  expect(reasons({ partial: 'interrupted' })).toContain('interrupted')
  expect(judge({ ...GOOD, partial: 'interrupted' }).verdict).toBe('red')
})

describe('told "reserved"', () => {
  const row = (id: string, more: Partial<PlacedOrder> = {}): PlacedOrder => ({
    id,
    sale: '5',
    item: '7',
    buyer: `b${id}`,
    attempt: 1,
    quantity: 1,
    amount: { amount: 100, currency: 'CNY' },
    state: 'pending',
    reservedAt: '2026-11-15T10:00:00.000Z',
    placedAt: '2026-11-15T10:00:00.000Z',
    ...more,
  })
  const refused = { state: 'closed', reason: 'refused', closedAt: '2026-11-15T10:00:00.000Z' } as const

  /** The rows, and the buyers of all of them told 202. */
  function withRows(
    rows: readonly PlacedOrder[],
    tolds: readonly string[],
    audit: Partial<Facts['audit']> = {},
  ): Facts {
    const all = facts(audit)
    const orders = rows.map(order => ({
      ...order,
      reason: order.reason,
      supersededBy: undefined,
      epoch: undefined,
      price: order.amount,
      placedAtMs: 1,
      paidAtMs: undefined,
      closedAtMs: order.closedAt === undefined ? undefined : 1,
    }))
    const told = tolds.map(id => ({
      buyer: `b${id}`,
      item: '7',
      attempt: 1,
      quantity: 1,
      askedAtMs: 1,
      answeredAtMs: 2,
      answer: { kind: 'reserved' as const, order: { id, attempt: 1, quantity: 1, state: 'reserved' as const } },
    }))
    return { ...all, orders: rows, snapshot: { ...all.snapshot, orders, told } }
  }
  const SOLD = { paid: 0, pending: 2 }

  test('and placed is a sale like any other', () => {
    const placed = withRows([row('1'), row('2')], ['1', '2'], SOLD)
    expect(judge({ ...GOOD, facts: placed }).reasons).toEqual([])
  })

  test('and then refused by a row of its own breaks no promise', () => {
    const settled = withRows([row('1'), row('2'), row('3', refused)], ['1', '2', '3'], { ...SOLD, closed: 1 })
    expect(judge({ ...GOOD, facts: settled }).reasons).toEqual([])
  })

  test('and never heard of again is an order lost', () => {
    expect(reasons({ facts: withRows([row('1'), row('2')], ['1', '2', '3'], SOLD) })).toContain('promise 2 is broken')
  })

  test('and refused is no reason to have sold less: who was refused still wanted one', () => {
    const short = { available: 1, pending: 1, paid: 0, closed: 2, gate: { left: 1, held: 1 } }
    const lost = withRows([row('1'), row('2', refused), row('3', refused)], ['1', '2', '3'], short)
    expect(reasons({ facts: lost })).toContain('sold 1 of 2, though 3 wanted one')
  })

  test('and without a final word is not answered', () => {
    const buyers = { all: 3, answered: 2, withOrder: 2, refused: 0, unanswered: 1 }
    expect(reasons({ buyers, facts: withRows([row('1'), row('2')], ['1', '2'], SOLD) })).toContain(
      '1 buyers have no final answer',
    )
  })
})

test('a part that was to be killed and was not proves nothing', () => {
  expect(judge({ ...GOOD, missed: 'worker-1 (pid 7) does not run any more' })).toMatchObject({
    verdict: 'red',
    reasons: ['no part was killed: worker-1 (pid 7) does not run any more'],
  })
})

test('a promise that was not judged is not called kept, neither in the sentence nor in the list', () => {
  const silent = { ...facts(), notJudged: new Map([[5, 'the gate was rebuilt']]) }
  const { verdict, sentence, promises } = judge({ ...GOOD, facts: silent })
  expect(verdict).toBe('green')
  expect(sentence).toEndWith(', not judged: "First come, first served"')
  expect(promises.filter(one => one.notJudged !== null)).toEqual([
    { no: 5, name: 'First come, first served', broken: 0, notJudged: 'the gate was rebuilt' },
  ])
})

test('without books no promise is judged', () => {
  const { promises } = judge({ ...GOOD, facts: undefined })
  expect(promises.map(one => one.notJudged)).toEqual(
    promises.map(() => 'the sale’s audit and orders could not be read'),
  )
})
