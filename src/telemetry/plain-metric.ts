/**
 * Metrics kept in plain numbers and shown to Prometheus only when it asks. The library's own counters hash their labels on every call
 * (150 ns for a counter, 500 ns for a histogram, against 10 to 20 ns here), which the crowd that can't win would pay for.
 * A metric here is what the library's registry asks of one: a name, a help text, a type, and its values when read.
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
  /** For the reference: each label, and what it can say where that is a closed list. */
  readonly labels: Readonly<Record<string, readonly string[] | string>>
  /** Must not throw: one figure that can't be had must not cost the others. No values: it is not shown. */
  readonly read: () => readonly Value[] | Promise<readonly Value[]>
}

/** Adds it to the registry, which shows metrics in the order they were added. */
export function register(registry: Registry, metric: PlainMetric): void {
  const { name, help, type, read } = metric
  const shown = { name, help, type, get: async () => ({ name, help, type, values: await read(), aggregator: 'sum' }) }
  // The registry's type names its own classes; what it uses of them is exactly this.
  registry.registerMetric(shown as unknown as Metric)
}

/** Milliseconds, fine below 5: that is where the promise of cheap refusals is kept or broken. */
export const LATENCY_MS = [0.1, 0.25, 0.5, 1, 2, 3, 5, 10, 25, 50, 100, 250, 500, 1000, 2500]
/** Milliseconds, for what waits for other processes: a fence alone takes seconds. */
export const WAITS_MS = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]
export const SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000]

/** Counts per bucket, the last one for all that is larger; then the sum. One array, so that nothing is allocated while counting. */
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

  /** @param unit what one of the values is in the unit shown: 0.001 for milliseconds in seconds */
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
