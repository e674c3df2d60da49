import { expect, test } from 'bun:test'
import type { Order } from '../shapes.ts'
import { buttonState, type Facts, nextChangeMs } from './button-state.ts'

const OPENS = Date.parse('2030-01-01T12:00:00.000Z')
const CLOSES = OPENS + 3_600_000
const item = {
  id: '2',
  name: 'teapot',
  price: { amount: 1, currency: 'CNY' },
  units: 10,
  left: 5,
  quantityMax: 1,
  attemptsMax: 3,
  payWithinSeconds: 900,
}
const sale = {
  id: '1',
  name: 'sale',
  opensAt: '2030-01-01T12:00:00.000Z',
  closesAt: '2030-01-01T13:00:00.000Z',
  state: 'open',
  rule: 'first_come',
  warmBeforeSeconds: 1800,
  ticketsBeforeSeconds: 1800,
  challenge: 'off',
  items: [item],
} as const
const open: Facts = {
  sale,
  item,
  order: undefined,
  doing: { kind: 'nothing' },
  nowMs: OPENS + 1,
  online: true,
  reachable: true,
  confirmed: true,
  signedOut: false,
}
const order = (state: Order['state']) => ({ id: '3', item: '2', attempt: 1, state }) as Order
const kind = (facts: Partial<Facts>) => buttonState({ ...open, ...facts }).kind

test('turns live at the very millisecond of the opening, whatever the last news of the sale said', () => {
  const scheduled = { ...sale, state: 'scheduled' } as const
  expect(kind({ sale: scheduled, nowMs: OPENS - 5_001 })).toBe('before')
  expect(kind({ sale: scheduled, nowMs: OPENS - 1 })).toBe('opening')
  expect(kind({ sale: scheduled, nowMs: OPENS })).toBe('live')
  expect(kind({ sale: scheduled, nowMs: CLOSES })).toBe('over')
})

test('an ask under way and an order that stands win over everything else', () => {
  const against = { sale: { ...sale, state: 'over' }, online: false, signedOut: true } as const
  expect(kind({ ...against, doing: { kind: 'sending', tries: 0, elsewhere: false } })).toBe('sending')
  expect(kind({ ...against, order: order('reserved') })).toBe('reserved')
  expect(kind({ ...against, order: order('pending') })).toBe('placed')
  expect(kind({ ...against, order: order('paid') })).toBe('paid')
  expect(kind({ ...against, order: order('closed') })).toBe('over')
})

test('a sale that only the page itself knows can not be bought, and says whether the server is asked or away', () => {
  const written = { confirmed: false } as const
  for (const nowMs of [OPENS - 60_000, OPENS, CLOSES]) {
    expect(kind({ ...written, nowMs })).toBe('loading')
    expect(kind({ ...written, nowMs, reachable: false })).toBe('away')
    expect(kind({ ...written, nowMs, reachable: false, online: false })).not.toBe('live')
  }
  expect(kind({ ...written, nowMs: OPENS, online: false })).toBe('offline')
  expect(kind({ ...written, sale: { ...sale, state: 'over' } })).toBe('over')
  // A sale that a server has sent is asked for again and again instead: the answer may have been lost alone.
  expect(kind({ reachable: false })).toBe('live')
})

test('says what keeps everybody away before what keeps this buyer away', () => {
  const gone = { ...item, left: 0 }
  expect(kind({ order: order('closed') })).toBe('live')
  expect(kind({ signedOut: true, online: false })).toBe('signed_out')
  expect(kind({ online: false })).toBe('offline')
  expect(kind({ sale: { ...sale, state: 'paused' }, item: gone })).toBe('paused')
  expect(kind({ item: gone, doing: { kind: 'cooling', untilMs: OPENS + 9, why: 'sold_out' } })).toBe('sold_out')
  expect(kind({ doing: { kind: 'attempts_used' } })).toBe('attempts_used')
})

test('does not promise a paused sale’s opening: paused before it, and still paused at zero', () => {
  const paused = { ...sale, state: 'paused' } as const
  for (const nowMs of [OPENS - 60_000, OPENS - 1, OPENS])
    expect(buttonState({ ...open, sale: paused, nowMs })).toEqual({ kind: 'paused', opened: nowMs >= OPENS })
  expect(kind({ sale: { ...sale, state: 'scheduled' }, nowMs: OPENS - 60_000 })).toBe('before')
})

test('cooling down and a rate limit end by themselves', () => {
  for (const doing of [
    { kind: 'cooling', untilMs: OPENS + 3_000, why: 'sold_out' },
    { kind: 'limited', untilMs: OPENS + 3_000 },
  ] as const) {
    expect(kind({ doing, nowMs: OPENS + 2_999 })).toBe(doing.kind)
    expect(kind({ doing, nowMs: OPENS + 3_000 })).toBe('live')
    expect(nextChangeMs({ ...open, doing })).toBe(OPENS + 3_000)
  }
  expect(nextChangeMs({ ...open, nowMs: OPENS - 60_000 })).toBe(OPENS - 5_000)
  expect(nextChangeMs({ ...open, nowMs: CLOSES })).toBe(Number.POSITIVE_INFINITY)
})
