/**
 * Metrics kept as plain numbers and rendered only when Prometheus asks. The library's own counters hash their labels on every call
 * (150 ns for a counter, 500 ns for a histogram, against 10 to 20 ns here), and every cheap refusal would pay for it.
 */

import { type Metric, Registry, type RegistryContentType } from 'prom-client'
import type { TraceParent } from '../base/trace.ts'

interface Value {
  /** Where it differs from the metric's own: the `_bucket`, `_sum` and `_count` of a histogram. */
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  /** A traced one of those that were counted; shown only in OpenMetrics. */
  readonly exemplar?: Exemplar | undefined
}

/** As the library shows it. `timestamp`: unix seconds. */
interface Exemplar {
  readonly labelSet: { readonly trace_id: string }
  readonly value: number
  readonly timestamp: number
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
export function register(registry: Registry<RegistryContentType>, metric: PlainMetric): void {
  const { help, type, read } = metric
  // In OpenMetrics the library adds the ending itself.
  const isOpen = registry.contentType !== Registry.PROMETHEUS_CONTENT_TYPE
  const name = isOpen && type === 'counter' ? metric.name.replace(/_total$/, '') : metric.name
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
  /** The last traced value of each bucket; made when there is one. */
  #traced: Map<number, { readonly trace: TraceParent; readonly value: number; readonly atMs: number }> | undefined

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#cells = new Float64Array(bounds.length + 2)
  }

  observe(value: number, trace?: TraceParent | null, atMs = 0): void {
    const bounds = this.#bounds
    let i = 0
    while (i < bounds.length && value > bounds[i]!) i += 1
    if (trace) {
      this.#traced ??= new Map()
      this.#traced.set(i, { trace, value, atMs })
    }
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
      values.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: count, ...this.#exemplar(i, unit) })
    }
    count += this.#cells[this.#bounds.length]!
    values.push({
      metricName: `${name}_bucket`,
      labels: { ...labels, le: '+Inf' },
      value: count,
      ...this.#exemplar(this.#bounds.length, unit),
    })
    values.push({ metricName: `${name}_sum`, labels, value: this.#cells[this.#bounds.length + 1]! * unit })
    values.push({ metricName: `${name}_count`, labels, value: count })
    return values
  }

  #exemplar(bucket: number, unit: number): { readonly exemplar?: Exemplar } {
    const found = this.#traced?.get(bucket)
    if (found === undefined) return {}
    const { trace, value, atMs } = found
    const traceId = trace.split('-')[1] ?? ''
    return { exemplar: { labelSet: { trace_id: traceId }, value: value * unit, timestamp: atMs / 1_000 } }
  }
}
