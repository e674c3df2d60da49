/**
 * The last minutes in figures, one sample a second: how many requests, how long they took, how long the line was. And the funnel, since the
 * process began. Made from the counters that the metrics show, by differences; costs nothing while nobody asks but one reading a second.
 * All of it is of this process, over all its sales: the counters know no sale. Requests of operators and probes are left out, so that
 * watching does not show up in what is watched.
 */

import type { Clock } from '../../base/clock.ts'
import type { PlainMetric } from '../../telemetry/plain-metric.ts'

export interface Sample {
  readonly atMs: number
  readonly requestsPerSecond: number
  /** Undefined in a second without requests. */
  readonly p50Ms: number | undefined
  readonly p99Ms: number | undefined
  readonly line: number
}

export interface Funnel {
  readonly sinceMs: number
  readonly asked: number
  readonly limited: number
  readonly soldOut: number
  /** Refused for another reason: too early, paused, over, a bad ticket, busy. */
  readonly refused: number
  readonly reserved: number
  readonly placed: number
  readonly paid: number
}

interface RecentFigures {
  sample(): Promise<void>
  /** Those after the moment given, oldest first. */
  since(atMs: number): readonly Sample[]
  funnel(unsettled: number): Promise<Funnel>
}

const SAMPLES_MAX = 300
const NOT_WATCHED = /^\/(api\/admin|ops|assets|metrics|livez|readyz|docs|openapi)/

/** Answers so far: all of them, and how many took at most so long, for each bound. */
interface Answers {
  readonly count: number
  readonly within: ReadonlyMap<number, number>
}

export function createRecentFigures(parts: {
  readonly metrics: readonly PlainMetric[]
  readonly line: () => number
  readonly clock: Clock
}): RecentFigures {
  const { clock, line } = parts
  const sinceMs = clock.now()
  const samples: Sample[] = []
  let last: { readonly atMs: number; readonly answers: Answers } | undefined

  const read = async (name: string) => (await parts.metrics.find(metric => metric.name === name)?.read()) ?? []

  /** Of the cheapest refusals only some are timed: each class counts with its full number. */
  async function readAnswers(): Promise<Answers> {
    const counts = new Map<string, number>()
    let count = 0
    for (const { labels, value } of await read('stampede_http_requests_total')) {
      if (NOT_WATCHED.test(labels.route ?? '')) continue
      counts.set(keyOf(labels), value)
      count += value
    }
    const timings = await read('stampede_http_request_seconds')
    const weights = new Map<string, number>()
    for (const { metricName, labels, value } of timings)
      if (metricName?.endsWith('_count') && value > 0)
        weights.set(keyOf(labels), (counts.get(keyOf(labels)) ?? 0) / value)
    const within = new Map<number, number>()
    for (const { metricName, labels, value } of timings) {
      const weight = weights.get(keyOf(labels))
      if (!metricName?.endsWith('_bucket') || weight === undefined) continue
      const boundMs = labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le) * 1000
      within.set(boundMs, (within.get(boundMs) ?? 0) + value * weight)
    }
    return { count, within }
  }

  return {
    async sample() {
      const now = { atMs: clock.elapsed(), answers: await readAnswers() }
      if (last !== undefined && now.atMs > last.atMs) {
        const requests = Math.max(0, now.answers.count - last.answers.count)
        samples.push({
          atMs: clock.now(),
          requestsPerSecond: (requests * 1000) / (now.atMs - last.atMs),
          p50Ms: quantile(0.5, last.answers, now.answers),
          p99Ms: quantile(0.99, last.answers, now.answers),
          line: line(),
        })
        if (samples.length > SAMPLES_MAX) samples.shift()
      }
      last = now
    },
    since: atMs => samples.filter(sample => sample.atMs > atMs),
    async funnel(unsettled) {
      const asks = await tallyOf('stampede_order_asks_total', 'outcome')
      const orders = await tallyOf('stampede_orders_total', 'became')
      const asked = [...asks.values()].reduce((sum, count) => sum + count, 0)
      const of = (tally: ReadonlyMap<string, number>, ...names: string[]) =>
        names.reduce((sum, name) => sum + (tally.get(name) ?? 0), 0)
      const limited = of(asks, 'rate_limited')
      const soldOut = of(asks, 'sold_out', 'not_enough')
      const placed = of(orders, 'placed')
      return {
        sinceMs,
        asked,
        limited,
        soldOut,
        refused: asked - limited - soldOut - of(asks, 'placed', 'same', 'reserved'),
        reserved: placed + of(orders, 'refused') + unsettled,
        placed,
        paid: of(orders, 'paid'),
      }
    },
  }

  async function tallyOf(name: string, label: string): Promise<ReadonlyMap<string, number>> {
    return new Map((await read(name)).map(({ labels, value }) => [labels[label] ?? '', value]))
  }
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  return `${labels.method} ${labels.route} ${labels.status}`
}

/** Of the answers between two readings, interpolated inside the bucket it falls into. */
function quantile(part: number, from: Answers, to: Answers): number | undefined {
  const bounds = [...to.within.keys()].sort((a, b) => a - b)
  // A weight that changed between the readings must not make a bucket shrink.
  let most = 0
  const counts = bounds.map(bound => {
    most = Math.max(most, (to.within.get(bound) ?? 0) - (from.within.get(bound) ?? 0))
    return most
  })
  if (most < 1e-9) return undefined
  const wanted = most * part
  const i = counts.findIndex(count => count >= wanted)
  const below = i === 0 ? 0 : bounds[i - 1]!
  const above = bounds[i]!
  if (above === Number.POSITIVE_INFINITY) return below
  const before = i === 0 ? 0 : counts[i - 1]!
  return below + ((above - below) * (wanted - before)) / (counts[i]! - before)
}
