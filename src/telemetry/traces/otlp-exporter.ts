/**
 * Sends spans to an OpenTelemetry collector: OTLP over HTTP, as JSON. Bounded in every direction: so many spans wait, one request is under way,
 * and it has so long. A receiver that hangs, refuses or is not there costs spans, which are counted, and never an order: nothing waits for it.
 * A batch that was not taken is not sent again.
 */

import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { OutageLog } from '../../base/outage-log.ts'
import type { SpanFields } from '../../base/trace.ts'

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly name: string
  /** Answers a request of someone else. */
  readonly isServer?: boolean
  readonly fromMs: number
  readonly toMs: number
  readonly fields?: SpanFields | undefined
}

interface ExporterOptions {
  /** With the path of the traces. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** What the spans are from: service name, node, roles. */
  readonly resource: SpanFields
  readonly clock: Clock
  readonly log: Log
  readonly meters: Meters
}

const WAITING_MAX = 4_096
const BATCH_MAX = 512
const EVERY_MS = 1_000
const REQUEST_MS_MAX = 5_000
/** As the protocol numbers them. */
const KIND = { internal: 1, server: 2 }
const TEXTS = {
  event: 'traces_not_taken',
  begins: 'the receiver of traces does not take them: they are dropped',
  lasts: 'the receiver of traces still takes none',
  ends: 'the receiver of traces takes them again',
} as const

export class OtlpExporter {
  readonly #options: ExporterOptions
  readonly #outage: OutageLog
  #waiting: Span[] = []
  #sending: Promise<void> | undefined

  constructor(options: ExporterOptions) {
    this.#options = options
    this.#outage = new OutageLog(options, {}, TEXTS)
  }

  add(span: Span): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(span)
    else this.#options.meters.count('trace_spans', 'dropped')
  }

  /** Sends what waits, now and then, until it is told to stop. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.clock.sleep(EVERY_MS, signal)
      await this.flush()
    }
  }

  /** One request after the other, until nothing waits or one fails. Never rejects. */
  flush(): Promise<void> {
    this.#sending ??= this.#send().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #send(): Promise<void> {
    const { meters } = this.#options
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX)
      const why = await this.#post(batch)
      meters.count('trace_spans', why === undefined ? 'sent' : 'failed', batch.length)
      if (why === undefined) this.#outage.worked()
      else return this.#outage.failed(undefined, () => ({ why }))
    }
  }

  /** Undefined: taken. */
  async #post(batch: readonly Span[]): Promise<string | undefined> {
    const { url, headers, clock } = this.#options
    const over = new AbortController()
    const late = new AbortController()
    void clock.sleep(REQUEST_MS_MAX, over.signal).then(() => late.abort())
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(this.#bodyOf(batch)),
        redirect: 'manual',
        signal: late.signal,
      })
      await response.body?.cancel()
      return response.ok ? undefined : `status ${response.status}`
    } catch (error) {
      return late.signal.aborted && !over.signal.aborted ? 'no answer in time' : String(error)
    } finally {
      over.abort()
    }
  }

  #bodyOf(batch: readonly Span[]) {
    const resource = { attributes: attributesOf(this.#options.resource) }
    return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'stampede' }, spans: batch.map(wireSpan) }] }] }
  }
}

function wireSpan({ traceId, spanId, parentId, name, isServer, fromMs, toMs, fields = {} }: Span) {
  return {
    traceId,
    spanId,
    ...(parentId !== undefined && { parentSpanId: parentId }),
    name,
    kind: isServer === true ? KIND.server : KIND.internal,
    startTimeUnixNano: nanosOf(fromMs),
    endTimeUnixNano: nanosOf(Math.max(fromMs, toMs)),
    attributes: attributesOf(fields),
  }
}

/** 64 bits do not fit a number of JSON: the protocol wants a text. Microseconds are what the clock has. */
function nanosOf(ms: number): string {
  return `${Math.round(ms * 1_000)}000`
}

function attributesOf(fields: SpanFields) {
  return Object.entries(fields).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { doubleValue: value } : { stringValue: value },
  }))
}
