/**
 * Traces, as ports: one click followed from the edge to the webhook, by spans. Where tracing is off there is no such port, and where a click is
 * not chosen there is no such object: the parts ask `trace?.`, and pay one branch. Nothing here waits, fails or is needed by a promise.
 */

/** A span's place in its trace, in the form of the W3C's `traceparent`: `00-<trace, 32 hex>-<span, 16 hex>-01`. */
export type TraceParent = string & { readonly traceParent?: never }

/** What a click does one after the other: each step ends where the next begins, so that they add up to the answer. */
export type ClickStep = 'admit' | 'opening' | 'queue' | 'gate' | 'ledger' | 'placed' | 'answer'

/** A click that was chosen to be traced. */
export interface ClickTrace {
  /** Under what other parts hang their spans of this click. */
  readonly parent: TraceParent
  /** The step before ends, and this one begins. */
  step(name: ClickStep): void
}

/** The whole of it, as the edge sees it. */
export interface TracedAnswer extends ClickTrace {
  readonly traceId: string
  /** Of the request itself: what its answer names. */
  readonly own: TraceParent
  /** The answer is there. Called once. @returns how long it took, in ms */
  end(fields: SpanFields): number
}

export type SpanFields = Readonly<Record<string, string | number>>

/** Where a part that is not the edge writes what it did for a traced click. */
export interface SpanWriter {
  /** Unix time in milliseconds, with fractions. */
  nowMs(): number
  span(parent: TraceParent, name: string, fromMs: number, toMs: number, fields?: SpanFields): void
}

/** By order id, of those orders that are traced. */
export type Traces = ReadonlyMap<string, TraceParent>
