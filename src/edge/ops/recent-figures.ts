/**
 * The last minutes in figures, one sample a second: requests, their latency, asks waiting in queues. Made from the counters that the
 * metrics show, they count this process over all its sales: the counters know no sale.
 * Requests of operators and probes are left out, so that watching does not show up in what is watched.
 */

import type { Clock } from '../../base/clock.ts'
import type { PlainMetric } from '../../telemetry/plain-metric.ts'

interface Sample {
  readonly atMs: number
  readonly requestsPerSecond: number
  /** Null in a second without requests. */
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly queued: number
}

const SAMPLES_MAX = 300
const NOT_WATCHED = /^\/(api\/admin|ops|assets|metrics|livez|readyz|docs|openapi)/

/** Answers so far: all of them, and how many took at most so long, for each bound. */
interface Answers {
  readonly count: number
  readonly within: ReadonlyMap<number, number>
}

export class RecentFigures {
  readonly #metrics: readonly PlainMetric[]
  readonly #queued: () => number
  readonly #clock: Clock
  readonly #samples: Sample[] = []
  #last: { readonly atMs: number; readonly answers: Answers } | undefined

  constructor(metrics: readonly PlainMetric[], queued: () => number, clock: Clock) {
    this.#metrics = metrics
    this.#queued = queued
    this.#clock = clock
  }

  async sample(): Promise<void> {
    const now = { atMs: this.#clock.elapsed(), answers: await this.#readAnswers() }
    const last = this.#last
    if (last !== undefined && now.atMs > last.atMs) {
      const requests = Math.max(0, now.answers.count - last.answers.count)
      this.#samples.push({
        atMs: this.#clock.now(),
        requestsPerSecond: (requests * 1000) / (now.atMs - last.atMs),
        p50Ms: quantile(0.5, last.answers, now.answers),
        p99Ms: quantile(0.99, last.answers, now.answers),
        queued: this.#queued(),
      })
      if (this.#samples.length > SAMPLES_MAX) this.#samples.shift()
    }
    this.#last = now
  }

  /** Those after the moment given, oldest first. */
  since(atMs: number): readonly Sample[] {
    return this.#samples.filter(sample => sample.atMs > atMs)
  }

  async #read(name: string) {
    return (await this.#metrics.find(metric => metric.name === name)?.read()) ?? []
  }

  /** Of the cheapest refusals only some are timed: each class counts with its full number. */
  async #readAnswers(): Promise<Answers> {
    const counts = new Map<string, number>()
    for (const { labels, value } of await this.#read('stampede_http_requests_total'))
      if (!NOT_WATCHED.test(labels.route ?? '')) counts.set(keyOf(labels), value)
    const timings = await this.#read('stampede_http_request_seconds')
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
    return { count: sumOf(counts, ...counts.keys()), within }
  }
}

function sumOf(tally: ReadonlyMap<string, number>, ...names: readonly string[]): number {
  return names.reduce((sum, name) => sum + (tally.get(name) ?? 0), 0)
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  return `${labels.method} ${labels.route} ${labels.status}`
}

/** Of the answers between two readings, interpolated inside the bucket it falls into. */
function quantile(part: number, from: Answers, to: Answers): number | null {
  const bounds = [...to.within.keys()].sort((a, b) => a - b)
  // A weight that changed between the readings must not make a bucket shrink.
  let most = 0
  const counts = bounds.map(bound => {
    most = Math.max(most, (to.within.get(bound) ?? 0) - (from.within.get(bound) ?? 0))
    return most
  })
  if (most < 1e-9) return null
  const wanted = most * part
  const i = counts.findIndex(count => count >= wanted)
  const below = i === 0 ? 0 : bounds[i - 1]!
  const above = bounds[i]!
  if (above === Number.POSITIVE_INFINITY) return below
  const before = i === 0 ? 0 : counts[i - 1]!
  return below + ((above - below) * (wanted - before)) / (counts[i]! - before)
}
