/**
 * Chooses which clicks are traced, and makes their spans. A click with a `traceparent` from a trusted proxy is traced if that says so, others by
 * chance; both together at most `perSecond`, so that what comes from outside can't make this process write more than that.
 *
 * Spans of one click: the request; below it its steps, one behind the other without a gap. The one from the gate's answer on (`placed`, `ledger`)
 * has an id from the beginning: what worker, Kafka and webhooks do hangs below it.
 */

import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { ClickStep, SpanFields, SpanWriter, TracedAnswer, TraceParent } from '../../base/trace.ts'
import type { OtlpExporter, Span } from './otlp-exporter.ts'
import { readTraceParent, writeTraceParent } from './trace-parent.ts'

interface TracerOptions {
  /** 0 to 1. */
  readonly sample: number
  readonly perSecond: number
  readonly clock: Clock
  readonly random: Random
  readonly exporter: Pick<OtlpExporter, 'add'>
}

const TRACE_BYTES = 16
const SPAN_BYTES = 8
/** The wall clock was set: spans follow it. */
const DRIFT_MS_MAX = 5

export class Tracer implements SpanWriter {
  readonly #options: TracerOptions
  #offsetMs: number
  #second = 0
  #chosen = 0

  constructor(options: TracerOptions) {
    this.#options = options
    this.#offsetMs = options.clock.now() - options.clock.elapsed()
  }

  nowMs(): number {
    const { clock } = this.#options
    const ms = this.#offsetMs + clock.elapsed()
    const wallMs = clock.now()
    if (Math.abs(wallMs - ms) <= DRIFT_MS_MAX) return ms
    this.#offsetMs = wallMs - clock.elapsed()
    return wallMs
  }

  /** Undefined: this click is not traced. @param given a `traceparent` that may be trusted */
  click(given: string | null): TracedAnswer | undefined {
    const { sample, random } = this.#options
    const outer = given === null ? undefined : readTraceParent(given)
    if (!(outer === undefined ? random.next() < sample : outer.sampled) || !this.#hasRoom()) return undefined
    return new ClickSpans(this, outer?.traceId ?? this.id(TRACE_BYTES), outer?.spanId)
  }

  span(parent: TraceParent, name: string, fromMs: number, toMs: number, fields?: SpanFields): void {
    const under = readTraceParent(parent)
    // What was carried is from outside of this process, and checked.
    if (under === undefined) return
    this.add({
      traceId: under.traceId,
      spanId: this.id(SPAN_BYTES),
      parentId: under.spanId,
      name,
      fromMs,
      toMs,
      fields,
    })
  }

  add(span: Span): void {
    this.#options.exporter.add(span)
  }

  id(bytes = SPAN_BYTES): string {
    return Buffer.from(this.#options.random.bytes(bytes)).toString('hex')
  }

  #hasRoom(): boolean {
    const second = Math.floor(this.#options.clock.elapsed() / 1_000)
    if (second !== this.#second) this.#chosen = 0
    this.#second = second
    this.#chosen += 1
    return this.#chosen <= this.#options.perSecond
  }
}

/** The steps during which others work for the click. */
const CARRIED: ReadonlySet<ClickStep> = new Set(['placed', 'ledger'])

class ClickSpans implements TracedAnswer {
  readonly parent: TraceParent
  readonly traceId: string
  /** Of the request: what its answer names. */
  readonly own: TraceParent
  readonly #tracer: Tracer
  readonly #outerId: string | undefined
  readonly #requestId: string
  readonly #carriedId: string
  readonly #fromMs: number
  readonly #steps: { readonly name: ClickStep; readonly fromMs: number }[]

  constructor(tracer: Tracer, traceId: string, outerId: string | undefined) {
    this.#tracer = tracer
    this.traceId = traceId
    this.#outerId = outerId
    this.#requestId = tracer.id()
    this.#carriedId = tracer.id()
    this.#fromMs = tracer.nowMs()
    this.#steps = [{ name: 'admit', fromMs: this.#fromMs }]
    this.parent = writeTraceParent({ traceId, spanId: this.#carriedId })
    this.own = writeTraceParent({ traceId, spanId: this.#requestId })
  }

  step(name: ClickStep): void {
    if (this.#steps.at(-1)?.name !== name) this.#steps.push({ name, fromMs: this.#tracer.nowMs() })
  }

  /** The answer is there. Called once. @returns how long it took */
  end(fields: SpanFields): number {
    const { traceId } = this
    const toMs = this.#tracer.nowMs()
    const ids = { traceId, spanId: this.#requestId, parentId: this.#outerId }
    this.#tracer.add({ ...ids, name: 'POST order', isServer: true, fromMs: this.#fromMs, toMs, fields })
    // A click that asked twice has some steps twice: the first of the carried ones has the id that was given away.
    const carried = this.#steps.findIndex(({ name }) => CARRIED.has(name))
    for (const [i, { name, fromMs }] of this.#steps.entries()) {
      const spanId = i === carried ? this.#carriedId : this.#tracer.id()
      const until = this.#steps[i + 1]?.fromMs ?? toMs
      this.#tracer.add({ traceId, spanId, parentId: this.#requestId, name, fromMs, toMs: until })
    }
    return toMs - this.#fromMs
  }
}
