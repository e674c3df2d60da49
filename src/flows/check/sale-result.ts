/**
 * The result of a sale: what was sold, earned and given back, who waited how long, and the first minute. "So far" while it runs; the same figures
 * when it is over, also when its orders have been archived.
 *
 * To count reads all orders of the sale, and none of any other. So callers share a count, and after it the ledger rests for a multiple of the
 * time it took; meanwhile callers get the last one. Bounded: a sale that nobody asks for within a minute is forgotten.
 */

import type { Clock } from '../../base/clock.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Durations, ItemFigures, SaleFigures } from '../../ledger/sale-figures.ts'

interface Waiting {
  readonly orders: number
  readonly p50Ms: number | undefined
  readonly p95Ms: number | undefined
  readonly p99Ms: number | undefined
}

export interface SaleResult {
  /** When it was counted. */
  readonly atMs: number
  readonly items: readonly ItemFigures[]
  /** Sixty seconds; undefined: there is no order yet. */
  readonly minute:
    | { readonly fromMs: number; readonly seconds: readonly { readonly orders: number; readonly units: number }[] }
    | undefined
  /** From the reservation until the order was in the ledger. */
  readonly placed: Waiting
  /** From there until it was paid. */
  readonly paid: Waiting
}

interface Entry {
  readonly result: Promise<SaleResult>
  tookMs: number
  /** Monotonic; undefined while it is being counted. */
  endedAtMs: number | undefined
  askedAtMs: number
}

const MINUTE_MS = 60_000
const FORGOTTEN_AFTER_MS = 60_000
/** The least rest, and the rest as a multiple of the time that the count took. */
const REST_MS_MIN = 2_000
const REST = 20
const REST_MS_MAX = 60_000

export function createSaleResults(parts: {
  readonly figures: SaleFigures
  readonly clock: Clock
}): (sale: Sale) => Promise<SaleResult> {
  const { clock } = parts
  const entries = new Map<SaleId, Entry>()

  function begin(sale: Sale, nowMs: number): Promise<SaleResult> {
    const result = countResult(parts, sale)
    const entry: Entry = { result, tookMs: 0, endedAtMs: undefined, askedAtMs: nowMs }
    entries.set(sale.id, entry)
    result.then(
      () => {
        entry.endedAtMs = clock.elapsed()
        entry.tookMs = entry.endedAtMs - nowMs
      },
      // Nothing to show: the next caller tries again.
      () => entries.delete(sale.id),
    )
    return result
  }

  return sale => {
    const nowMs = clock.elapsed()
    for (const [id, { askedAtMs, endedAtMs }] of entries)
      if (endedAtMs !== undefined && nowMs - askedAtMs > FORGOTTEN_AFTER_MS) entries.delete(id)
    const last = entries.get(sale.id)
    if (last === undefined) return begin(sale, nowMs)
    last.askedAtMs = nowMs
    const restMs = Math.min(Math.max(last.tookMs * REST, REST_MS_MIN), REST_MS_MAX)
    return last.endedAtMs === undefined || nowMs - last.endedAtMs < restMs ? last.result : begin(sale, nowMs)
  }
}

/** The minute begins with the opening; with the first order where that came later than a minute after it: the sale was published late. */
async function countResult(
  { figures, clock }: Parameters<typeof createSaleResults>[0],
  sale: Sale,
): Promise<SaleResult> {
  const atMs = clock.now()
  const firstMs = await figures.firstOrderMs(sale.id)
  const isLate = firstMs !== undefined && firstMs >= sale.opensAtMs + MINUTE_MS
  const fromMs = isLate ? Math.floor(firstMs / 1000) * 1000 : sale.opensAtMs
  const items = await figures.of(sale.id, fromMs)
  return {
    atMs,
    items,
    minute: firstMs === undefined ? undefined : { fromMs, seconds: secondsOf(items) },
    placed: waitingOf(items.map(item => item.placedAfter)),
    paid: waitingOf(items.map(item => item.paidAfter)),
  }
}

function secondsOf(items: readonly ItemFigures[]) {
  const seconds = Array.from({ length: 60 }, () => ({ orders: 0, units: 0 }))
  for (const { minute } of items)
    for (const [second, { orders, units }] of minute) {
      const sum = seconds[second]
      if (sum === undefined) continue
      sum.orders += orders
      sum.units += units
    }
  return seconds
}

/** From buckets, so they are exact to a twentieth or so. */
function waitingOf(all: readonly Durations[]): Waiting {
  const sums = new Map<number, number>()
  for (const durations of all)
    for (const [bucket, orders] of durations) sums.set(bucket, (sums.get(bucket) ?? 0) + orders)
  const buckets = [...sums].sort(([one], [other]) => one - other)
  const orders = buckets.reduce((sum, [, count]) => sum + count, 0)
  const percentile = (share: number) => {
    let seen = 0
    for (const [bucket, count] of buckets) {
      seen += count
      if (seen >= orders * share) return Math.exp(bucket / 20)
    }
    return undefined
  }
  return { orders, p50Ms: percentile(0.5), p95Ms: percentile(0.95), p99Ms: percentile(0.99) }
}
