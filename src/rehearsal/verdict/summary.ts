/** Puts what was counted and read into the result that is printed and drawn. Pure. */

import type { Histogram } from '../client/histogram.ts'
import type { Buyers } from '../crowd/buyers.ts'
import type { Tally } from '../crowd/tally.ts'
import { describeMix } from '../plan/mix.ts'
import { describeShape } from '../plan/shape.ts'
import type { RehearsalOptions } from '../rehearsal-options.ts'
import type { Latency, Rehearsal } from '../result.ts'
import type { WireOrder } from '../stage/stage.ts'
import type { Books } from './facts.ts'
import { judge } from './verdict.ts'

interface Found {
  readonly options: RehearsalOptions
  readonly startedAt: string
  readonly sale: { readonly sale: string; readonly item: string; readonly name: string }
  readonly opensAtMs: number
  readonly tally: Tally
  readonly crowd: { readonly buyers: Pick<Buyers, 'settled' | 'holders' | 'fates'>; latency(): Histogram } | undefined
  readonly books: Books | undefined
  readonly partial: string | null
  readonly fault: Rehearsal['fault']
  readonly notes: readonly string[]
  readonly machine: string
}

const NOT_STRUCK = 'the run ended before its moment came'
const CURVE = [
  ...Array.from({ length: 45 }, (_, i) => i * 0.02),
  ...[0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.999, 0.9995, 0.9999, 1],
]

export function summarize(found: Found): Rehearsal {
  const { options, tally, crowd, books, partial, fault } = found
  const settled = crowd?.buyers.settled ?? []
  const answered = settled.filter(word => word !== undefined).length
  const withOrder = crowd?.buyers.holders.size ?? 0
  const buyers = {
    all: options.buyers,
    answered,
    withOrder,
    refused: answered - withOrder,
    unanswered: options.buyers - answered,
  }
  const latency = latencyOf(crowd?.latency() ?? tally.asked)
  const unexpected = Object.fromEntries(tally.unexpected)
  const lastAnswerMs = round(tally.lastAnswerMs)
  const missed = options.fault === undefined ? null : (fault?.missed ?? (fault === null ? NOT_STRUCK : null))
  const evidence = { units: options.units, buyers, books, unexpected, partial, p99: latency.p99, lastAnswerMs }
  const judged = judge({ ...evidence, missed })
  const timeline = tally.timeline()
  return {
    ...judged,
    partial,
    startedAt: found.startedAt,
    seed: options.seed,
    server: { url: options.place.url, kind: options.kind },
    sale: { id: found.sale.sale, item: found.sale.item, name: found.sale.name },
    settings: {
      buyers: options.buyers,
      units: options.units,
      shards: options.shards,
      shape: describeShape(options.shape),
      mix: describeMix(options.mix),
      connections: options.connections,
      machine: found.machine,
    },
    buyers,
    books: books === undefined ? null : booksOf(books),
    fault,
    funnel: [
      { name: 'got a ticket', count: tally.tickets },
      { name: 'were answered', count: answered },
      { name: 'got an order', count: withOrder },
      { name: 'kept it', count: withOrder - (crowd?.buyers.fates.cancelled ?? 0) },
      { name: 'paid', count: crowd?.buyers.fates.paid ?? 0 },
    ],
    answers: Object.fromEntries([...tally.answers].sort((a, b) => b[1] - a[1])),
    unexpected,
    requests: tally.sent,
    peakPerSecond: peak(timeline),
    latency,
    clickToRow: latencyOf(tally.placed),
    lastAnswerMs,
    timeline,
    stock: books === undefined ? [] : stockOver(books.audit.units, books.orders, found.opensAtMs),
    notes: found.notes,
  }
}

function booksOf({ audit, orders }: Books): NonNullable<Rehearsal['books']> {
  return {
    units: audit.units,
    sold: audit.pending + audit.paid,
    available: audit.available,
    pending: audit.pending,
    paid: audit.paid,
    closed: audit.closed,
    orderRows: orders.length,
    liveOrderRows: orders.filter(order => order.state !== 'closed').length,
    consistent: audit.consistent,
  }
}

function latencyOf(histogram: Histogram): Latency {
  const at = (share: number) => round(histogram.quantile(share))
  return {
    count: histogram.count,
    p50: at(0.5),
    p90: at(0.9),
    p99: at(0.99),
    p999: at(0.999),
    max: round(histogram.maxMs),
    curve: histogram.count === 0 ? [] : CURVE.map(share => [share, at(share)] as const),
  }
}

/** The most answers in any 200 ms, as a rate. */
function peak({ stepMs, orders, refusals, later }: Rehearsal['timeline']): number {
  const steps = Math.round(200 / stepMs)
  const answers = orders.map((count, i) => count + (refusals[i] ?? 0) + (later[i] ?? 0))
  let most = 0
  let sum = 0
  for (let i = 0; i < answers.length; i++) {
    sum += answers[i]! - (answers[i - steps] ?? 0)
    most = Math.max(most, sum)
  }
  return Math.round((most * 1000) / (steps * stepMs))
}

function stockOver(units: number, orders: readonly WireOrder[], opensAtMs: number): (readonly [number, number])[] {
  const moves: [number, number][] = []
  for (const order of orders) {
    if (order.reason === 'refused') continue
    moves.push([Date.parse(order.placedAt) - opensAtMs, -order.quantity])
    if (order.closedAt !== undefined) moves.push([Date.parse(order.closedAt) - opensAtMs, order.quantity])
  }
  moves.sort((a, b) => a[0] - b[0])
  let left = units
  const steps = new Map<number, number>()
  for (const [atMs, by] of moves) {
    left += by
    steps.set(atMs, left)
  }
  return [[0, units], ...steps]
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100
}
