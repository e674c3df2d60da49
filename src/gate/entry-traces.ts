/**
 * Which orders of an entry are traced, as an entry or its copy carries it: a list of texts, order and parent in turn, only where any is. Readers of
 * older versions leave it alone. What can't be read is as good as missing: no order depends on it.
 */

import type { TraceParent, Traces } from '../base/trace.ts'

/** As many as a batch may have, and a malformed one is short of it. */
const TRACES_MAX = 1_000
const LENGTH_MAX = 128

export function writeTraces(traces: Traces | undefined): readonly string[] | undefined {
  return traces === undefined || traces.size === 0 ? undefined : [...traces].flat()
}

export function readTraces(list: unknown): Traces | undefined {
  if (!Array.isArray(list) || list.length === 0 || list.length % 2 !== 0 || list.length > 2 * TRACES_MAX)
    return undefined
  if (!list.every(text => typeof text === 'string' && text.length <= LENGTH_MAX)) return undefined
  const traces = new Map<string, TraceParent>()
  for (let i = 0; i < list.length; i += 2) traces.set(list[i], list[i + 1])
  return traces
}
