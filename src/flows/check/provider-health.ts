/**
 * How each payment provider answers, over all processes: calls by kind and outcome, how long answers took, when the last ones came. Counting is in memory;
 * once a second what has changed is written to the ledger, where the counts of all processes come together, as those of the funnel do. A
 * process that is killed loses its last second. What is counted begins with the process, and is forgotten a day after its last change.
 *
 * A provider is silent when the last three calls of a process got no answer and no process has had one since. It ends with the next
 * answer, or when nothing has been asked for five minutes: then nothing waits for it.
 */

import type { Clock } from '../../base/clock.ts'
import type { Meters } from '../../base/meters.ts'
import type { Random } from '../../base/random.ts'
import type { OpenPayments, ProviderCounts } from '../../ledger/provider-counts.ts'
import {
  CALL_OUTCOMES,
  type CallOutcome,
  PROVIDER_CALLS,
  type ProviderCall,
  type ProviderWatch,
} from '../../payment/watched-provider.ts'

type Calls = Readonly<Record<ProviderCall, Readonly<Record<CallOutcome, number>>>>

/** Times are unix ms; 0: never. */
interface Counts {
  readonly sinceMs: number
  readonly calls: Calls
  /** Of the last answers, in ms. */
  readonly p50Ms: number
  readonly p99Ms: number
  readonly answeredAtMs: number
  readonly succeededAtMs: number
  readonly failedAtMs: number
  /** Calls without an answer since the last answer. */
  readonly failedInARow: number
  readonly callbacks: number
  readonly forged: number
  readonly calledBackAtMs: number
  readonly forgedAtMs: number
}

export interface ProviderFigures extends Counts, Omit<OpenPayments, 'provider'> {
  readonly provider: string
  readonly silent: boolean
}

interface HealthParts {
  readonly providerCounts: ProviderCounts
  readonly clock: Clock
  readonly random: Random
  readonly meters: Meters
}

const RECENT_MAX = 100
const SILENT_AFTER = 3
const ASKED_WITHIN_MS = 300_000
/** Refunds are tried again with growing waits: so many tries are a quarter of a minute. */
const REFUND_TRIES_USUAL = 4

export class ProviderHealth implements ProviderWatch {
  readonly #parts: HealthParts
  readonly #process: string
  readonly #own = new Map<string, { counts: Counts; recentMs: number[]; written: boolean }>()
  #others: readonly { readonly provider: string; readonly counts: Counts }[] = []

  constructor(parts: HealthParts) {
    this.#parts = parts
    this.#process = Buffer.from(parts.random.bytes(8)).toString('hex')
  }

  /** A provider of this process: it is shown before it was asked. */
  add(provider: string): void {
    this.#own.set(provider, { counts: { ...NONE, sinceMs: this.#parts.clock.now() }, recentMs: [], written: false })
  }

  called(provider: string, call: ProviderCall, outcome: CallOutcome, tookMs: number): void {
    this.#parts.meters.count('payment_calls', `${call}_${outcome}`)
    this.#parts.meters.time('payment_call', tookMs)
    const nowMs = this.#parts.clock.now()
    this.#change(provider, (before, recentMs) => {
      const calls = { ...before.calls, [call]: { ...before.calls[call], [outcome]: before.calls[call][outcome] + 1 } }
      if (outcome === 'unreachable')
        return { ...before, calls, failedAtMs: nowMs, failedInARow: before.failedInARow + 1 }
      recentMs.push(tookMs)
      if (recentMs.length > RECENT_MAX) recentMs.shift()
      const sorted = recentMs.toSorted((a, b) => a - b)
      const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
      const answered = { calls, answeredAtMs: nowMs, failedInARow: 0, p50Ms: at(0.5), p99Ms: at(0.99) }
      return { ...before, ...answered, ...(outcome === 'ok' && { succeededAtMs: nowMs }) }
    })
  }

  calledBack(provider: string, forged: boolean): void {
    const atMs = this.#parts.clock.now()
    this.#change(provider, before =>
      forged
        ? { ...before, forged: before.forged + 1, forgedAtMs: atMs }
        : { ...before, callbacks: before.callbacks + 1, calledBackAtMs: atMs },
    )
  }

  /** Once a second: writes what has changed. */
  async round(): Promise<void> {
    const changed = [...this.#own].filter(([, { written }]) => !written)
    if (changed.length === 0) return
    for (const [, one] of changed) one.written = true
    try {
      const rows = changed.map(([provider, { counts }]) => ({ provider, counts: { ...counts } }))
      await this.#parts.providerCounts.save(this.#process, rows)
    } catch (error) {
      for (const [, one] of changed) one.written = false
      throw error
    }
  }

  /** Reads what other processes have counted. */
  async refresh(): Promise<void> {
    const rows = await this.#parts.providerCounts.ofOthers(this.#process)
    this.#others = rows.map(({ provider, counts }) => ({ provider, counts: toCounts(counts) }))
  }

  /** Providers that do not answer, by what was last read of other processes. */
  silent(): readonly { readonly provider: string; readonly count: number }[] {
    return this.#all()
      .filter(({ silent }) => silent)
      .map(({ provider, failedInARow }) => ({ provider, count: failedInARow }))
  }

  /** Of this process and all others, with what is open. */
  async figures(): Promise<readonly ProviderFigures[]> {
    await this.refresh()
    const open = new Map((await this.#parts.providerCounts.open(REFUND_TRIES_USUAL)).map(one => [one.provider, one]))
    return this.#all().map(one => {
      const { started = 0, refundsDue = 0, refundsStuck = 0 } = open.get(one.provider) ?? {}
      return { ...one, started, refundsDue, refundsStuck }
    })
  }

  #all() {
    const own = [...this.#own].map(([provider, { counts }]) => ({ provider, counts }))
    const nowMs = this.#parts.clock.now()
    return [...Map.groupBy([...own, ...this.#others], ({ provider }) => provider)].map(([provider, all]) => {
      const counts = all.map(one => one.counts).reduce(merge)
      const silent =
        counts.failedInARow >= SILENT_AFTER &&
        counts.failedAtMs > counts.answeredAtMs &&
        counts.failedAtMs > nowMs - ASKED_WITHIN_MS
      return { provider, ...counts, silent }
    })
  }

  #change(provider: string, change: (before: Counts, recentMs: number[]) => Counts): void {
    const known = this.#own.get(provider)
    if (known === undefined) return
    known.counts = change(known.counts, known.recentMs)
    known.written = false
  }
}

const NO_CALLS = Object.fromEntries(
  PROVIDER_CALLS.map(call => [call, Object.fromEntries(CALL_OUTCOMES.map(outcome => [outcome, 0]))]),
) as unknown as Calls

const NONE: Counts = {
  sinceMs: 0,
  calls: NO_CALLS,
  p50Ms: 0,
  p99Ms: 0,
  answeredAtMs: 0,
  succeededAtMs: 0,
  failedAtMs: 0,
  failedInARow: 0,
  callbacks: 0,
  forged: 0,
  calledBackAtMs: 0,
  forgedAtMs: 0,
}

/** Counts are added, of times and durations the largest counts. */
function merge(a: Counts, b: Counts): Counts {
  const largest = Object.fromEntries(
    Object.entries(a).flatMap(([name, value]) =>
      typeof value === 'number' ? [[name, Math.max(value, b[name as 'p50Ms'])]] : [],
    ),
  ) as unknown as Counts
  return {
    ...largest,
    sinceMs: Math.min(a.sinceMs, b.sinceMs),
    callbacks: a.callbacks + b.callbacks,
    forged: a.forged + b.forged,
    calls: callsOf((call, outcome) => a.calls[call][outcome] + b.calls[call][outcome]),
  }
}

function callsOf(figure: (call: ProviderCall, outcome: CallOutcome) => number): Calls {
  const outcomesOf = (call: ProviderCall) => Object.fromEntries(CALL_OUTCOMES.map(one => [one, figure(call, one)]))
  return Object.fromEntries(PROVIDER_CALLS.map(call => [call, outcomesOf(call)])) as unknown as Calls
}

/** What another version does not count is 0. */
function toCounts(written: Readonly<Record<string, unknown>>): Counts {
  const calls = written.calls as Record<string, Record<string, unknown>> | undefined
  const figures = Object.keys(NONE).map(name => [name, Number(written[name]) || 0])
  return {
    ...(Object.fromEntries(figures) as unknown as Counts),
    calls: callsOf((call, outcome) => Number(calls?.[call]?.[outcome]) || 0),
  }
}
