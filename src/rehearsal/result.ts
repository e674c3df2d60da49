/** What a rehearsal is asked for, and its result: what `--json` prints and the report shows. Times are milliseconds from the opening. */

import type { Stream } from './crowd/tally.ts'
import type { FaultPlan, MidRunFault } from './fault/mid-run-fault.ts'
import type { Server } from './operator/operator.ts'
import type { Mix } from './plan/mix.ts'
import type { Shape } from './plan/shape.ts'

export interface RehearsalOptions {
  readonly buyers: number
  readonly units: number
  /** How many shards of a cluster's gate the units are spread over. */
  readonly shards: number
  readonly shape: Shape
  readonly mix: Mix
  readonly seed: number
  readonly connections: number
  /** With the shop's secret the buyers' tokens are signed here; without it the buyers are guests. */
  readonly server: Server & { readonly buyerSecret?: string }
  readonly kind: Rehearsal['server']['kind']
  /** A part of the cluster to kill in the middle of the run. */
  readonly fault?: FaultPlan
}

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
  /** What is wrong; empty when the verdict is green. */
  readonly reasons: readonly string[]
  /** Why it ended early. */
  readonly partial: string | null
  readonly startedAt: string
  readonly seed: number
  readonly server: { readonly url: string; readonly kind: 'throwaway' | 'running' }
  readonly sale: { readonly id: string; readonly item: string; readonly name: string } | null
  readonly settings: Readonly<
    Record<'buyers' | 'units' | 'shards' | 'connections', number> & Record<'shape' | 'mix' | 'machine', string>
  >
  readonly buyers: Readonly<Record<'all' | 'answered' | 'withOrder' | 'refused' | 'unanswered', number>>
  /** The audit and the order rows at the end; null when they could not be read. */
  readonly books:
    | (Readonly<
        Record<'units' | 'sold' | 'available' | 'pending' | 'paid' | 'closed' | 'orderRows' | 'liveOrderRows', number>
      > & { readonly consistent: boolean })
    | null
  /** Null when no part was to be killed. */
  readonly fault: MidRunFault | null
  /** `notJudged`: why the facts can't show the promise kept; a violation that was found counts all the same. */
  readonly promises: readonly {
    readonly no: number
    readonly name: string
    readonly broken: number
    readonly notJudged: string | null
  }[]
  readonly funnel: readonly { readonly name: string; readonly count: number }[]
  /** Number of answers, by what they said. */
  readonly answers: Readonly<Record<string, number>>
  readonly unexpected: Readonly<Record<string, number>>
  readonly requests: number
  readonly peakPerSecond: number
  /** From the planned click to its answer. */
  readonly latency: Latency
  /** From the buyer's first planned click to the answer that the order is committed. */
  readonly clickToRow: Latency
  readonly lastAnswerMs: number
  readonly timeline: { readonly fromMs: number; readonly stepMs: number } & Readonly<Record<Stream, readonly number[]>>
  /** Units on sale after each change, by the ledger's clock. */
  readonly stock: readonly (readonly [atMs: number, left: number])[]
  readonly notes: readonly string[]
}
