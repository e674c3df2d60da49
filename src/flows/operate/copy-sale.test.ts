import { expect, test } from 'bun:test'
import type { Sale } from '../../domain/sale.ts'
import { copySale } from './copy-sale.ts'

const HOUR_MS = 3_600_000

const FRIDAY: Sale = {
  id: '1',
  name: 'Friday',
  texts: { zh: { name: '星期五' } },
  opensAtMs: 10 * HOUR_MS,
  closesAtMs: 12 * HOUR_MS,
  warmBeforeMs: 1000,
  state: 'over',
  stateNo: 7,
  rule: 'first_come',
  ticketsBeforeMs: 500,
  challenge: 4,
  holds: { perBuyer: 3 },
  line: {
    opensAtMs: 9 * HOUR_MS,
    order: 'draw',
    rate: 'auto',
    sealsAtMs: 9.5 * HOUR_MS,
    claimWithinMs: 120_000,
    beacon: { source: 'drand', round: 4711 },
  },
  items: [
    {
      id: '2',
      sale: '1',
      name: 'Cup',
      texts: { zh: { name: '杯子' } },
      sku: undefined,
      image: undefined,
      price: { amount: 100, currency: 'CNY' },
      listPrice: undefined,
      units: 9,
      available: 0,
      quantityMax: 2,
      attemptsMax: 3,
      payWithinMs: 60_000,
      whenGateDown: 'shut',
      homeDoor: 'ledger',
      shards: 4,
      door: 'ledger',
      epoch: 12,
      gateEpoch: 12,
      gateShards: 4,
      changeNo: 5,
    },
  ],
}

/** Keeps what it is given, as the ledger does. */
function copying() {
  const made = new Map([[FRIDAY.id, FRIDAY]])
  let last = 100
  const sales = {
    find: async (id: string) => made.get(id),
    create: async (sale: Sale) => void made.set(sale.id, sale),
  }
  const context = { sales, ids: { next: () => `${++last}` } } as unknown as Parameters<typeof copySale>[0]
  const nothing = { name: undefined, opensAtMs: undefined, closesAtMs: undefined, template: false }
  return (wish: Partial<Parameters<typeof copySale>[2]>, from = FRIDAY.id) =>
    copySale(context, from, { ...nothing, ...wish }, '50', 'otto')
}

test('a copy has every setting of the sale and nothing of what happened to it', async () => {
  const outcome = await copying()({})
  if (outcome.kind !== 'done') throw new Error(outcome.kind)
  const { id, state, stateNo, line, items, ...settings } = outcome.sale
  expect({ id, state, stateNo }).toEqual({ id: '50', state: 'draft', stateNo: 0 })
  const { id: _, state: __, stateNo: ___, line: ____, items: _____, ...expected } = FRIDAY
  expect(settings).toEqual({ ...expected, template: undefined })
  const { id: item, ...copied } = items[0]!
  expect(item).not.toBe('2')
  const fresh = { sale: '50', available: 9, door: 'shut', epoch: 0, gateEpoch: 0, gateShards: 1, changeNo: 0 } as const
  expect(copied).toEqual({ ...FRIDAY.items[0]!, ...fresh, id: undefined } as unknown as typeof copied)
  // A named round is a moment that has passed.
  expect(line).toEqual({ ...FRIDAY.line!, beacon: { source: 'drand' } })
})

test('a copy under another name does not say the old one in another language; its items do', async () => {
  const outcome = await copying()({ name: 'Saturday' })
  if (outcome.kind !== 'done') throw new Error(outcome.kind)
  expect(outcome.sale.texts).toBeUndefined()
  expect(outcome.sale.items[0]!.texts).toEqual({ zh: { name: '杯子' } })
})

test('the closing and the times of the line move with the opening; a window that ends before it begins is refused', async () => {
  const copy = copying()
  const outcome = await copy({ opensAtMs: 34 * HOUR_MS, name: 'Saturday' })
  if (outcome.kind !== 'done') throw new Error(outcome.kind)
  expect(outcome.sale).toMatchObject({ name: 'Saturday', opensAtMs: 34 * HOUR_MS, closesAtMs: 36 * HOUR_MS })
  expect(outcome.sale.line).toMatchObject({ opensAtMs: 33 * HOUR_MS, sealsAtMs: 33.5 * HOUR_MS })
  expect(await copy({ opensAtMs: 34 * HOUR_MS, closesAtMs: 34 * HOUR_MS })).toMatchObject({
    kind: 'invalid',
    field: 'closesAt',
  })
  expect(await copy({}, '99')).toEqual({ kind: 'missing' })
})
