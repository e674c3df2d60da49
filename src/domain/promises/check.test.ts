import { describe, expect, test } from 'bun:test'
import { checkPromises } from './check.ts'
import type { ItemFacts, OrderFacts, Snapshot, Told, ToldOrder } from './snapshot.ts'

type Answer = Told['answer']

const ITEM = '7'

function order(id: string, buyer: string, more: Partial<OrderFacts> = {}): OrderFacts {
  return {
    id,
    item: ITEM,
    buyer,
    attempt: 1,
    quantity: 1,
    price: { amount: 500, currency: 'CNY' },
    state: 'pending',
    reason: undefined,
    supersededBy: undefined,
    epoch: 1,
    placedAtMs: 1_000 + Number(id),
    paidAtMs: undefined,
    closedAtMs: undefined,
    ...more,
  }
}

function closed(
  id: string,
  buyer: string,
  reason: 'cancelled' | 'unpaid' | 'refused' | 'refunded',
  atMs: number,
): OrderFacts {
  return order(id, buyer, { state: 'closed', reason, closedAtMs: atMs })
}

function said(id: string, more: Partial<ToldOrder> = {}): ToldOrder {
  return { id, attempt: 1, quantity: 1, state: 'pending', ...more }
}

function told(buyer: string, askedAtMs: number, answer: Answer, more: Partial<Told> = {}): Told {
  return { buyer, item: ITEM, attempt: 1, quantity: 1, askedAtMs, answeredAtMs: askedAtMs + 5, answer, ...more }
}

function item(more: Partial<ItemFacts> = {}): ItemFacts {
  return {
    item: ITEM,
    rule: 'first_come',
    units: 3,
    available: 1,
    pending: 2,
    paid: 0,
    gate: { left: 1, held: 2 },
    outbox: 0,
    releases: 0,
    oldestReleaseMs: undefined,
    door: 'gate',
    epoch: 1,
    changes: [],
    ...more,
  }
}

/** Three units; ann and bob have one each, one is available; cid got nothing for his three. */
const GOOD: Snapshot = {
  quiet: true,
  items: [item()],
  orders: [order('1', 'ann'), order('2', 'bob')],
  told: [
    told('ann', 10, { kind: 'placed', order: said('1') }),
    told('ann', 30, { kind: 'same', order: said('1') }),
    told('bob', 12, { kind: 'unknown' }),
    told('bob', 40, { kind: 'same', order: said('2') }),
    told('cid', 50, { kind: 'not_enough', left: 1 }, { quantity: 3 }),
    told('dan', 60, { kind: 'busy' }),
  ],
  payments: [],
  bounds: [{ name: 'line', value: 10, max: 10 }],
  refusals: { refusedAtEdge: 1_000, networkCalls: 0 },
}

function broken(more: Partial<Snapshot>): number[] {
  return [...new Set(checkPromises({ ...GOOD, ...more }).map(violation => violation.promise))]
}

test('the good snapshot breaks nothing', () => {
  expect(checkPromises(GOOD)).toEqual([])
})

test('facts that nobody read accuse nobody', () => {
  const nothing: Snapshot = { ...GOOD, items: [], orders: undefined, told: GOOD.told, bounds: [] }
  expect(checkPromises(nothing)).toEqual([])
})

test('a violation names its promise, says one line and gives the ids', () => {
  const [violation, ...rest] = checkPromises({ ...GOOD, items: [item({ available: 2, gate: undefined })] })
  expect(rest).toEqual([])
  expect(violation).toEqual({
    promise: 3,
    message: 'item 7: 2 available and 2 in live orders are not 3 units',
    ids: [ITEM],
  })
})

describe('1 no oversell', () => {
  const four = ['1', '2', '3', '4'].map(id => order(id, `buyer ${id}`))

  test('sees more live units than units', () => {
    expect(
      broken({ items: [item({ pending: 4, available: 0, gate: undefined })], orders: undefined, told: [] }),
    ).toContain(1)
    expect(broken({ items: [item({ pending: 3, paid: 1, gate: undefined })], orders: undefined, told: [] })).toContain(
      1,
    )
    expect(broken({ orders: four, told: [] })).toContain(1)
  })

  test('sees an oversell that a later closing hid', () => {
    const hidden = [...four.slice(0, 3), closed('4', 'buyer 4', 'cancelled', 5_000)]
    expect(broken({ items: [item({ available: 0, pending: 3, gate: undefined })], orders: hidden, told: [] })).toEqual([
      1,
    ])
    const inTurn = [...four.slice(1), closed('1', 'buyer 1', 'cancelled', 1_004)]
    expect(broken({ items: [item({ available: 0, pending: 3, gate: undefined })], orders: inTurn, told: [] })).toEqual(
      [],
    )
  })

  test('counts units that were added, from when they were', () => {
    const facts = { units: 4, available: 0, pending: 4, gate: undefined }
    const added = (atMs: number) => item({ ...facts, changes: [{ no: 1, taken: 1, atMs }] })
    expect(broken({ items: [added(1_002)], orders: four, told: [] })).toEqual([])
    expect(broken({ items: [added(9_000)], orders: four, told: [] })).toEqual([1])
  })

  test('sees more units promised than there are, rows or not', () => {
    const promises = four.map(({ id, buyer }) => told(buyer, 10, { kind: 'placed', order: said(id) }))
    expect(broken({ told: promises })).toContain(1)
  })

  test('sees a gate or a ledger below nothing', () => {
    expect(broken({ quiet: false, items: [item({ available: -1 })] })).toEqual([1])
    expect(broken({ quiet: false, items: [item({ gate: { left: -1, held: 4 } })] })).toEqual([1])
  })
})

describe('2 nothing lost', () => {
  test('sees an order that was told and is no row', () => {
    expect(broken({ told: [told('eve', 10, { kind: 'placed', order: said('9') })] })).toEqual([2])
    expect(broken({ told: [told('eve', 10, { kind: 'same', order: said('9') })] })).toEqual([2])
  })

  test('sees a row that is not what was told', () => {
    const tell = (buyer: string, more: Partial<ToldOrder>) =>
      broken({ told: [told(buyer, 10, { kind: 'placed', order: said('1', more) })] })
    expect(tell('ann', {})).toEqual([])
    expect(tell('bob', {})).toEqual([2])
    expect(tell('ann', { quantity: 2 })).toEqual([2])
    expect(tell('ann', { attempt: 2 })).toEqual([2])
    expect(tell('ann', { state: 'paid' })).toEqual([2])
    expect(tell('ann', { state: 'closed' })).toEqual([2])
  })

  test('lets a reservation wait while something is in flight, and wants its row, even a refusal, when all is quiet', () => {
    const reserved = told('eve', 10, { kind: 'reserved', order: said('9', { state: 'reserved' }) })
    expect(broken({ quiet: false, told: [reserved] })).toEqual([])
    expect(broken({ told: [reserved] })).toEqual([2])
    expect(
      broken({ told: [reserved], orders: [...(GOOD.orders ?? []), closed('9', 'eve', 'refused', 2_000)] }),
    ).toEqual([])
  })

  test('sees a placed order that became a refusal', () => {
    const rows = [...(GOOD.orders ?? []), closed('9', 'eve', 'refused', 2_000)]
    expect(broken({ orders: rows, told: [told('eve', 10, { kind: 'placed', order: said('9') })] })).toEqual([2])
  })

  test('sees rows that the sums do not know, and the other way round', () => {
    expect(broken({ orders: [order('1', 'ann')], told: [] })).toEqual([2])
    expect(broken({ quiet: false, orders: [order('1', 'ann')], told: [] })).toEqual([])
  })
})

describe('3 no undersell', () => {
  test('sees a unit that is neither available nor in a live order', () => {
    expect(broken({ items: [item({ available: 0, gate: { left: 0, held: 2 } })] })).toEqual([3])
  })

  test('sees a gate that shows less, or more, than the ledger has', () => {
    expect(broken({ items: [item({ gate: { left: 0, held: 2 } })] })).toEqual([3])
    expect(broken({ items: [item({ gate: { left: 2, held: 2 } })] })).toEqual([3])
    expect(broken({ items: [item({ gate: { left: 1, held: 1 } })] })).toEqual([3])
    expect(broken({ items: [item({ gate: { left: 0, held: 3 }, releases: 1 })] })).toEqual([])
    expect(broken({ items: [item({ gate: { left: 0, held: 3 }, outbox: 1 })] })).toEqual([])
  })

  test('does not add up what is in flight', () => {
    expect(broken({ quiet: false, items: [item({ available: 0, gate: { left: 2, held: 1 } })] })).toEqual([])
  })

  test('sees a unit that takes too long to come back, also while something is in flight', () => {
    const waiting = (oldestReleaseMs: number) =>
      broken({ quiet: false, items: [item({ gate: { left: 0, held: 3 }, releases: 1, oldestReleaseMs })] })
    expect(waiting(2_000)).toEqual([])
    expect(waiting(2_001)).toEqual([3])
  })
})

describe('4 one live order per buyer and item', () => {
  const sold = item({ available: 0, pending: 3, gate: undefined })

  test('sees two live orders of one buyer', () => {
    const rows = [order('1', 'ann'), order('2', 'bob'), order('3', 'ann', { attempt: 2 })]
    expect(broken({ items: [sold], orders: rows })).toEqual([4])
  })

  test('sees two orders of one attempt, unless one was refused', () => {
    const rows = [...(GOOD.orders ?? [])]
    expect(broken({ orders: [...rows, closed('3', 'ann', 'cancelled', 2_000)] })).toEqual([4])
    expect(broken({ orders: [...rows, closed('3', 'ann', 'refused', 2_000)] })).toEqual([])
  })

  test('sees one attempt led to two orders', () => {
    const rows = [closed('1', 'ann', 'cancelled', 2_000), order('2', 'bob'), order('3', 'ann', { attempt: 2 })]
    const first = told('ann', 10, { kind: 'placed', order: said('1') })
    expect(
      broken({ orders: rows, told: [first, told('ann', 90, { kind: 'same', order: said('3', { attempt: 1 }) })] }),
    ).toContain(4)
    expect(
      broken({ orders: rows, told: [first, told('ann', 90, { kind: 'same', order: said('3', { attempt: 2 }) })] }),
    ).toEqual([])
  })

  test('sees a holder who asked again and was told no; a "no" that overlapped, and a busy one, prove nothing', () => {
    const first = told('ann', 10, { kind: 'placed', order: said('1') }, { answeredAtMs: 20 })
    const again = (askedAtMs: number, answer: Answer) => broken({ told: [first, told('ann', askedAtMs, answer)] })
    expect(again(21, { kind: 'sold_out' })).toEqual([4])
    expect(again(21, { kind: 'over' })).toEqual([4])
    expect(again(21, { kind: 'rate_limited' })).toEqual([4])
    expect(again(15, { kind: 'sold_out' })).toEqual([])
    expect(again(21, { kind: 'busy' })).toEqual([])
    expect(again(21, { kind: 'unknown' })).toEqual([])
  })

  test('an attempt that was refused is free again', () => {
    const rows = [...(GOOD.orders ?? []), closed('3', 'eve', 'refused', 2_000)]
    const reserved = told('eve', 10, { kind: 'reserved', order: said('3', { state: 'reserved' }) })
    expect(broken({ orders: rows, told: [reserved, told('eve', 30, { kind: 'sold_out' })] })).toEqual([])
  })
})

describe('5 first come, first served', () => {
  const first = told('ann', 10, { kind: 'placed', order: said('1') })
  const refused = told('cid', 20, { kind: 'sold_out' }, { answeredAtMs: 30 })
  const later = (askedAtMs: number) => told('bob', askedAtMs, { kind: 'placed', order: said('2') })

  test('sees units for whoever came after somebody was told that nothing is left', () => {
    expect(broken({ told: [first, refused, later(31)] })).toEqual([5])
  })

  test('asks that overlap the refusal prove nothing', () => {
    expect(broken({ told: [first, refused, later(29)] })).toEqual([])
  })

  test('an order counts from the first ask of its attempt, also a lost one', () => {
    const lost = told('bob', 15, { kind: 'unknown' }, { answeredAtMs: 90 })
    expect(broken({ told: [first, refused, lost, later(95)] })).toEqual([])
    const lostLater = told('bob', 40, { kind: 'unknown' }, { answeredAtMs: 90 })
    expect(broken({ told: [first, refused, lostLater] })).toEqual([5])
  })

  test('what was left, came back or was added may go to those who come later', () => {
    const left = told('cid', 20, { kind: 'not_enough', left: 1 }, { quantity: 2, answeredAtMs: 30 })
    expect(broken({ told: [first, left, later(31)] })).toEqual([])
    const nothingLeft = told('cid', 20, { kind: 'not_enough', left: 0 }, { quantity: 2, answeredAtMs: 30 })
    expect(broken({ told: [first, nothingLeft, later(31)] })).toEqual([5])
    const rows = [...(GOOD.orders ?? []), closed('3', 'dan', 'cancelled', 2_000)]
    expect(broken({ orders: rows, told: [first, refused, later(31)] })).toEqual([])
    const grown = item({ changes: [{ no: 1, taken: 1, atMs: 500 }] })
    expect(broken({ items: [grown], told: [first, refused, later(31)] })).toEqual([])
  })

  test('a refusal accuses only an epoch that had begun before it', () => {
    const rows = (epoch: number | undefined) => [order('1', 'ann'), order('2', 'bob', { epoch })]
    expect(broken({ orders: rows(2), told: [first, refused, later(31)] })).toEqual([])
    expect(broken({ orders: rows(undefined), told: [first, refused, later(31)] })).toEqual([])
    expect(broken({ told: [{ ...first, answeredAtMs: 21 }, refused, later(31)] })).toEqual([])
  })

  test('a draw has no first comer', () => {
    expect(broken({ items: [item({ rule: 'draw' })], told: [first, refused, later(31)] })).toEqual([])
  })
})

describe('6 paid or released, never both', () => {
  const amount = { amount: 500, currency: 'CNY' }
  const paying = (row: OrderFacts, payments: Snapshot['payments'], quiet = true) => {
    const live = row.state === 'closed' ? 0 : 1
    const facts = item({
      pending: row.state === 'pending' ? 1 : 0,
      paid: row.state === 'paid' ? 1 : 0,
      available: 3 - live,
      gate: undefined,
    })
    return broken({ quiet, items: [facts], orders: [row], told: [], payments })
  }
  const paid = order('1', 'ann', { state: 'paid', paidAtMs: 2_000 })

  test('one capture of the right amount makes a paid order', () => {
    expect(paying(paid, [{ order: '1', amount, state: 'captured' }])).toEqual([])
    expect(paying(paid, [])).toEqual([6])
    expect(
      paying(
        paid,
        [1, 2].map(() => ({ order: '1', amount, state: 'captured' as const })),
      ),
    ).toEqual([6])
    expect(paying(paid, [{ order: '1', amount: { ...amount, amount: 5 }, state: 'captured' }])).toEqual([6])
  })

  test('money for a closed order goes back', () => {
    const unpaid = closed('1', 'ann', 'unpaid', 3_000)
    expect(paying(unpaid, [{ order: '1', amount, state: 'captured' }])).toEqual([6])
    expect(paying(unpaid, [{ order: '1', amount, state: 'captured' }], false)).toEqual([])
    expect(paying(unpaid, [{ order: '1', amount, state: 'refund_due' }])).toEqual([])
    expect(paying({ ...unpaid, paidAtMs: 2_500 }, [], false)).toEqual([6])
    expect(paying(closed('1', 'ann', 'refunded', 3_000), [])).toEqual([6])
  })

  test('a payment belongs to an order', () => {
    expect(broken({ payments: [{ order: '99', amount, state: 'started' }] })).toEqual([6])
  })

  test('gives back parts of what was captured, and never as much or more', () => {
    const parts = (...given: number[]) => paying(paid, [{ order: '1', amount, state: 'captured', parts: given }])
    expect(parts(100, 399)).toEqual([])
    expect(parts(100, 400)).toEqual([6])
    expect(parts(0)).toEqual([6])
    const refunded = closed('1', 'ann', 'refunded', 3_000)
    expect(paying(refunded, [{ order: '1', amount, state: 'refunded', parts: [499] }])).toEqual([])
    expect(paying(closed('1', 'ann', 'unpaid', 3_000), [{ order: '1', amount, state: 'void', parts: [1] }])).toEqual([
      6,
    ])
  })
})

test('7 cheap refusals: sees a network call made for the crowd that cannot win', () => {
  expect(broken({ refusals: { refusedAtEdge: 1_000, networkCalls: 1 } })).toEqual([7])
})

test('8 everything is bounded: sees a value above its bound, a bound that is none, and a value that is no number', () => {
  const bounds = (value: number, max: number) => broken({ bounds: [{ name: 'line', value, max }] })
  expect(bounds(11, 10)).toEqual([8])
  expect(bounds(1, Number.POSITIVE_INFINITY)).toEqual([8])
  expect(bounds(Number.NaN, 10)).toEqual([8])
})
