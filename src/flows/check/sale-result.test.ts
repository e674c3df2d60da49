import { expect, test } from 'bun:test'
import type { Sale } from '../../domain/sale.ts'
import type { ItemFigures, SaleFigures } from '../../ledger/sale-figures.ts'
import { createSaleResults } from './sale-result.ts'

const OPENS_MS = 1_800_000_000_000
const SALE = { id: '1', opensAtMs: OPENS_MS } as unknown as Sale

function rig(more: { firstMs?: number; figures?: Partial<ItemFigures> } = {}) {
  const clock = { nowMs: 0, tookMs: 0 }
  const asked: number[] = []
  const figures: SaleFigures = {
    firstOrderMs: async () => more.firstMs,
    async of(_, fromMs) {
      asked.push(fromMs)
      clock.nowMs += clock.tookMs
      const none = { minute: new Map(), placedAfter: new Map(), paidAfter: new Map() }
      return [{ ...none, ...more.figures } as unknown as ItemFigures]
    },
  }
  const result = createSaleResults({
    figures,
    clock: { now: () => OPENS_MS + clock.nowMs, elapsed: () => clock.nowMs, sleep: async () => {} },
  })
  return { result, asked, clock }
}

test('the minute begins with the opening, or with the first order of a sale that was published later', async () => {
  for (const [firstMs, fromMs] of [
    [OPENS_MS + 12_345, OPENS_MS],
    [OPENS_MS + 59_999, OPENS_MS],
    [OPENS_MS + 3_601_234, OPENS_MS + 3_601_000],
  ] as const) {
    const { result, asked } = rig({ firstMs })
    expect((await result(SALE)).minute?.fromMs).toBe(fromMs)
    expect(asked).toEqual([fromMs])
  }
  expect((await rig().result(SALE)).minute).toBeUndefined()
})

test('callers share a count, and after a long one the ledger rests for as long again many times over', async () => {
  const { result, asked, clock } = rig()
  clock.tookMs = 500
  await Promise.all([result(SALE), result(SALE)])
  expect(asked.length).toBe(1)
  clock.nowMs += 20 * 500 - 1
  await result(SALE)
  expect(asked.length).toBe(1)
  clock.nowMs += 1
  await result(SALE)
  expect(asked.length).toBe(2)
})

test('percentiles are exact to a twentieth, over all items together', async () => {
  const buckets = (times: readonly number[]) => {
    const sums = new Map<number, number>()
    for (const ms of times) {
      const bucket = Math.round(20 * Math.log(ms))
      sums.set(bucket, (sums.get(bucket) ?? 0) + 1)
    }
    return sums
  }
  const times = Array.from({ length: 1000 }, (_, i) => i + 1)
  const { result } = rig({ figures: { placedAfter: buckets(times), minute: new Map([[3, { orders: 4, units: 9 }]]) } })
  const { placed, paid } = await result(SALE)
  expect(placed.orders).toBe(1000)
  for (const [found, exact] of [
    [placed.p50Ms, 500],
    [placed.p95Ms, 950],
    [placed.p99Ms, 990],
  ] as const)
    expect(Math.abs(found! / exact - 1)).toBeLessThan(0.05)
  expect(paid).toEqual({ orders: 0, p50Ms: undefined, p95Ms: undefined, p99Ms: undefined })
})
