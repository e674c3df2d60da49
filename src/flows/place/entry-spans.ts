/** What a worker writes of traced orders: how long their entry waited, and what the ledger made of them. Undefined ports and entries without traces cost one branch. */

import type { SpanWriter } from '../../base/trace.ts'
import type { OutboxEntry } from '../../gate/outbox.ts'

/** The entries are in hand. @returns what is called when the ledger has answered; undefined: none of them is traced */
export function placingSpans(spans: SpanWriter | undefined, entries: readonly OutboxEntry[]): (() => void) | undefined {
  if (spans === undefined || !entries.some(hasTraces)) return undefined
  const fromMs = spans.nowMs()
  return () => {
    const toMs = spans.nowMs()
    for (const entry of entries) {
      const { copiedAtMs } = entry
      each(entry, (parent, reservedAtMs) => {
        if (copiedAtMs === undefined) spans.span(parent, 'outbox', reservedAtMs, fromMs)
        else spans.span(parent, 'kafka', copiedAtMs, fromMs)
        spans.span(parent, 'commit', fromMs, toMs, { 'stampede.batch': entries.length })
      })
    }
  }
}

/** The entries are copied to the log. */
export function copyingSpans(spans: SpanWriter | undefined, entries: readonly OutboxEntry[], fromMs: number): void {
  if (spans === undefined) return
  for (const entry of entries) {
    each(entry, (parent, reservedAtMs) => {
      spans.span(parent, 'outbox', reservedAtMs, fromMs)
      spans.span(parent, 'copy', fromMs, spans.nowMs())
    })
  }
}

const hasTraces = ({ traces }: OutboxEntry) => traces !== undefined

function each({ asks, traces }: OutboxEntry, write: (parent: string, reservedAtMs: number) => void): void {
  if (traces === undefined) return
  for (const { order, reservedAtMs } of asks ?? []) {
    const parent = traces.get(order)
    if (parent !== undefined) write(parent, reservedAtMs)
  }
}
