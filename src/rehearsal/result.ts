/** What a rehearsal came to: what `--json` prints, and all that the report shows. Times are milliseconds from the opening. */

import type { Stream } from './crowd/tally.ts'
import type { Struck } from './fault/mid-run-fault.ts'

export interface Latency {
  readonly count: number
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly p999: number
  readonly max: number
  /** Share of all (0 to 1) and the latency it does not exceed. */
  readonly curve: readonly (readonly [share: number, ms: number])[]
}

export interface Rehearsal {
  readonly verdict: 'green' | 'red'
  readonly sentence: string
  /** What is wrong; empty when it is green. */
  readonly reasons: readonly string[]
  /** Why it ended before its time. */
  readonly partial: string | null
  readonly startedAt: string
  readonly seed: number
  readonly server: { readonly url: string; readonly kind: 'throwaway' | 'running' }
  readonly sale: { readonly id: string; readonly item: string; readonly name: string } | null
  readonly settings: {
    readonly buyers: number
    readonly units: number
    /** What the sale was created with. */
    readonly shards: number
    readonly shape: string
    readonly mix: string
    readonly connections: number
    readonly machine: string
  }
  readonly buyers: {
    readonly all: number
    readonly answered: number
    readonly withOrder: number
    readonly refused: number
    readonly unanswered: number
  }
  readonly books: {
    readonly units: number
    readonly sold: number
    readonly available: number
    readonly pending: number
    readonly paid: number
    readonly closed: number
    readonly orderRows: number
    readonly liveOrderRows: number
    readonly consistent: boolean
  } | null
  /** Null when no part was to be killed. */
  readonly fault: Struck | null
  /** Kept is what was judged and not broken. `notJudged`: why nothing can be said; what was found broken is broken all the same. */
  readonly promises: readonly {
    readonly no: number
    readonly name: string
    readonly broken: number
    readonly notJudged: string | null
  }[]
  readonly funnel: readonly { readonly name: string; readonly count: number }[]
  /** Every answer by what it said. */
  readonly answers: Readonly<Record<string, number>>
  readonly unexpected: Readonly<Record<string, number>>
  readonly requests: number
  readonly peakPerSecond: number
  /** From the intended click to its answer. */
  readonly latency: Latency
  /** From the buyer's first intended click to the answer that the order is committed. */
  readonly clickToRow: Latency
  readonly lastAnswerMs: number
  readonly timeline: { readonly fromMs: number; readonly stepMs: number } & Readonly<Record<Stream, readonly number[]>>
  /** Units on sale after each change, by the ledger's clock. */
  readonly stock: readonly (readonly [atMs: number, left: number])[]
  readonly notes: readonly string[]
}
