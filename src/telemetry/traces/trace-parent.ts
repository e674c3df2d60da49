/** The W3C's `traceparent`: read from outside with care, and written. */

import type { TraceParent } from '../../base/trace.ts'

interface SpanAddress {
  readonly traceId: string
  readonly spanId: string
  /** The sender wants this trace to be kept. */
  readonly sampled: boolean
}

/** A later version may have more behind a dash; version ff is none. */
const FORM = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const LENGTH_MAX = 128
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/** Undefined: it is none, or malformed, and a new trace begins. */
export function readTraceParent(text: string | null | undefined): SpanAddress | undefined {
  if (text === null || text === undefined || text.length > LENGTH_MAX) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = FORM.exec(text.trim()) ?? []
  if (version === undefined || traceId === NO_TRACE || spanId === NO_SPAN) return undefined
  if (version === '00' && more !== undefined) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function writeTraceParent({ traceId, spanId }: Pick<SpanAddress, 'traceId' | 'spanId'>): TraceParent {
  return `00-${traceId}-${spanId}-01` as TraceParent
}
