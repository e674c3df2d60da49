/**
 * What a rehearsal is asked for, and its result, made from what was counted and read: what `--json` prints and the report shows. Times are
 * milliseconds from the opening. Pure.
 */

import type { LineRate } from '../domain/line.ts'
import { shardsFor } from '../domain/shards.ts'
import type { Histogram } from './client/histogram.ts'
import type { Buyers } from './crowd/buyers.ts'
import type { Checkout } from './crowd/checkout.ts'
import type { LineCrowd } from './crowd/line-crowd.ts'
import type { Tally } from './crowd/tally.ts'
import { type FaultPlan, type MidRunFault, NOT_REACHED } from './fault/mid-run-fault.ts'
import type { PlacedOrder, Server } from './operator/operator.ts'
import { describeMix, type Mix } from './plan/plan.ts'
import { describeShape, type Shape } from './plan/shape.ts'
import type { Facts } from './verdict/facts.ts'
import { judge } from './verdict/verdict.ts'

export interface RehearsalOptions {
  readonly buyers: number
  readonly units: number
  /** How many shards of a cluster's gate the units are spread over. */
  readonly shards: number
  readonly shape: Shape
  readonly mix: Mix
  readonly seed: number
  readonly connections: number
  /** With the shop's secret the buyers' tokens are signed here; without it the buyers are guests. */
  readonly server: Server & { readonly buyerSecret?: string }
  readonly kind: 'throwaway' | 'running'
  /** A part of the cluster to kill in the middle of the run. */
  readonly fault?: FaultPlan
  /** The sale has a waiting line, which lets people in at this rate. */
  readonly line?: { readonly rate: LineRate }
  /** Leave out the crowd at a constant server. */
  readonly noConstant?: boolean
}

interface CountedCrowd {
  readonly buyers: Pick<Buyers, 'settled' | 'holders'> & { readonly checkout: Pick<Checkout, 'paid' | 'cancelled'> }
  readonly line: Pick<LineCrowd, 'figures' | 'joinMs' | 'waitMs'> | undefined
  latency(): Histogram
}

interface Found {
  readonly options: RehearsalOptions
  readonly startedAt: string
  readonly sale: Readonly<Record<'sale' | 'item' | 'name', string>>
  readonly opensAtMs: number
  readonly tally: Tally
  readonly crowd: CountedCrowd | undefined
  readonly facts: Facts | undefined
  /** Why it ended early. */
  readonly partial: string | null
  readonly fault: MidRunFault | null
  /** How long everyone waited at a constant server; null when it was not tried. */
  readonly constantMs: number | null
  readonly notes: readonly string[]
  readonly machine: string
}

type Stock = readonly (readonly [atMs: number, left: number])[]

export type Rehearsal = ReturnType<typeof summarize>

const CURVE = [
  ...Array.from({ length: 45 }, (_, i) => i * 0.02),
  ...[0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.999, 0.9995, 0.9999, 1],
]

export function summarize(found: Found) {
  const { options, startedAt, sale, tally, crowd, facts, partial, fault, notes, machine } = found
  const { units, shards, connections, seed } = options
  const answered = crowd?.buyers.settled.filter(outcome => outcome !== undefined).length ?? 0
  const withOrder = crowd?.buyers.holders.size ?? 0
  const all = options.buyers
  const buyers = { all, answered, withOrder, refused: answered - withOrder, unanswered: all - answered }
  const latency = latencyOf(crowd?.latency() ?? tally.asked)
  const unexpected = Object.fromEntries(tally.unexpected)
  const lastAnswerMs = round(tally.lastAnswerMs)
  const missed = options.fault === undefined ? null : fault === null ? NOT_REACHED : fault.missed
  const timeline = tally.timeline()
  return {
    ...judge({ units, buyers, facts, unexpected, partial, p99: latency.p99, lastAnswerMs, missed }),
    partial,
    startedAt,
    seed,
    server: { url: options.server.url, kind: options.kind },
    sale: { id: sale.sale, item: sale.item, name: sale.name },
    settings: {
      buyers: all,
      units,
      shards,
      shape: describeShape(options.shape),
      mix: describeMix(options.mix),
      connections,
      machine,
    },
    buyers,
    /** The audit and the order rows at the end; null when they could not be read. */
    books: facts === undefined ? null : booksOf(facts),
    /** Null when no part was to be killed. */
    fault,
    /** Of a sale with a waiting line: how many joined and were let in, how fast, how long a join took to be answered and a buyer to be let in. */
    line:
      crowd?.line === undefined
        ? null
        : { ...crowd.line.figures(), join: latencyOf(crowd.line.joinMs), wait: latencyOf(crowd.line.waitMs) },
    funnel: [
      ...(crowd?.line === undefined ? [] : [{ name: 'joined the line', count: crowd.line.figures().joins }]),
      { name: 'got a ticket', count: tally.tickets },
      { name: 'were answered', count: answered },
      { name: 'got an order', count: withOrder },
      { name: 'kept it', count: withOrder - (crowd?.buyers.checkout.cancelled ?? 0) },
      { name: 'paid', count: crowd?.buyers.checkout.paid ?? 0 },
    ],
    /** Number of answers, by what they said. */
    answers: Object.fromEntries([...tally.answers].sort((a, b) => b[1] - a[1])) as Readonly<Record<string, number>>,
    unexpected,
    requests: tally.sent,
    peakPerSecond: peakOf(timeline),
    /** From the planned click to its answer. */
    latency,
    /** From the buyer's first planned click to the answer that the order is committed. */
    clickToRow: latencyOf(tally.placed),
    lastAnswerMs,
    /** The same crowd at a constant server on this machine; null when that says nothing: a server elsewhere, a killed part, a slow crowd. */
    constant: constantOf(lastAnswerMs, found.constantMs),
    timeline,
    /** Units on sale after each change, by the ledger's clock. */
    stock: facts === undefined ? [] : stockOver(facts.audit.units, facts.orders, found.opensAtMs),
    notes,
  }
}

function constantOf(lastAnswerMs: number, constantMs: number | null) {
  if (constantMs === null) return null
  return { lastAnswerMs: round(constantMs), ratio: round(lastAnswerMs / constantMs) }
}

export function describeConstant({ lastAnswerMs, ratio }: NonNullable<ReturnType<typeof constantOf>>): string {
  const seconds = (lastAnswerMs / 1000).toFixed(2)
  return `a constant server has answered the same crowd within ${seconds} s: this one took ${ratio.toFixed(2)} times as long`
}

/** Says where shards have no effect, so that the rehearsal is not taken for a test of them. */
export function shardsNote({ shards, units, kind }: Pick<RehearsalOptions, 'shards' | 'units' | 'kind'>): string[] {
  if (shards === 1) return []
  if (kind === 'throwaway') return [`${shards} shards change nothing here: one process has one shard for all units.`]
  if (shardsFor(units, shards) === 1) return [`${shards} shards change nothing: ${units} units are too few for them.`]
  return [`${shards} shards: a cluster spreads the units over them; a single process always has one.`]
}

export function reservedNote({ answers }: Tally): string[] {
  const [reserved = 0, refused = 0] = [answers.get('reserved'), answers.get('reserved_refused')]
  if (reserved === 0) return []
  const outcome = refused === 0 ? 'none of them was refused afterwards' : `${refused} buyers were refused afterwards`
  return [`${reserved} answers were "reserved": ${outcome}.`]
}

function booksOf({ audit, orders }: Facts) {
  const { units, available, pending, paid, closed, consistent } = audit
  const liveOrderRows = orders.filter(order => order.state !== 'closed').length
  const sold = pending + paid
  return { units, sold, available, pending, paid, closed, orderRows: orders.length, liveOrderRows, consistent }
}

/** `curve`: the share of all (0 to 1) and the latency it does not exceed. */
function latencyOf(histogram: Histogram) {
  const { count } = histogram
  const at = (share: number) => round(histogram.quantile(share))
  const curve = count === 0 ? [] : CURVE.map(share => [share, at(share)] as const)
  return { count, p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: round(histogram.maxMs), curve }
}

/** The most answers in any 200 ms, as a rate. */
function peakOf({ stepMs, orders, refusals, later }: ReturnType<Tally['timeline']>): number {
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

function stockOver(units: number, orders: readonly PlacedOrder[], opensAtMs: number): Stock {
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
