/**
 * Metrics kept as plain numbers and rendered only when Prometheus asks. The library's own counters hash their labels on every call
 * (150 ns for a counter, 500 ns for a histogram, against 10 to 20 ns here), and every cheap refusal would pay for it.
 */

import type { Metric, Registry } from 'prom-client'

interface Value {
  /** Where it differs from the metric's own: the `_bucket`, `_sum` and `_count` of a histogram. */
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface PlainMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** For the reference page: each label with its values, or a description where the list is open. */
  readonly labels: Readonly<Record<string, readonly string[] | string>>
  /** Must not throw: a failing metric must not cost the others. Without values it is not shown. */
  readonly read: () => readonly Value[] | Promise<readonly Value[]>
}

/** The registry shows metrics in the order they were added. */
export function register(registry: Registry, metric: PlainMetric): void {
  const { name, help, type, read } = metric
  const shown = { name, help, type, get: async () => ({ name, help, type, values: await read(), aggregator: 'sum' }) }
  // The registry's type asks for its own classes; these are the only members it uses.
  registry.registerMetric(shown as unknown as Metric)
}

/** Milliseconds, fine below 5: cheap refusals are promised there. */
export const LATENCY_MS = [0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 25, 50, 100, 250, 500, 1000, 2500]
/** Milliseconds, for waits on other processes: a fence alone takes seconds. */
export const WAITS_MS = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]
export const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

/** One array, so that counting allocates nothing: counts per bucket, one for larger values, then the sum. */
export class PlainHistogram {
  readonly #bounds: readonly number[]
  readonly #cells: Float64Array

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#cells = new Float64Array(bounds.length + 2)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > bounds[i]!) i += 1
    this.#cells[i]! += 1
    this.#cells[bounds.length + 1]! += value
  }

  /** @param unit converts an observed value to the unit shown: 0.001 for milliseconds in seconds */
  values(name: string, labels: Readonly<Record<string, string>>, unit: number): Value[] {
    const values: Value[] = []
    let count = 0
    for (const [i, bound] of this.#bounds.entries()) {
      count += this.#cells[i]!
      // Rounded: 3 × 0.001 must read 0.003.
      const le = String(Number((bound * unit).toPrecision(6)))
      values.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: count })
    }
    count += this.#cells[this.#bounds.length]!
    values.push({ metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count })
    values.push({ metricName: `${name}_sum`, labels, value: this.#cells[this.#bounds.length + 1]! * unit })
    values.push({ metricName: `${name}_count`, labels, value: count })
    return values
  }
}
