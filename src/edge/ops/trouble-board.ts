/**
 * What is wrong, and since when. Findings come in rounds, one scope at a time (a sale, the process): a round replaces what the last one
 * of its scope found, and a finding that is found again keeps its beginning. A finding is trouble once it was seen twice and has lasted
 * its grace time. A finding may go on from another one (an item that was withdrawn is now shut): then it is trouble at once if that one was. Holds at most what one round of each scope finds. Below it: what is found by looking at one live item, one line of an
 * audit, or the process.
 */

import type { OperatorGuard } from '../../admission/operator-guard.ts'
import type { LimitDifference } from '../../admission/shared-counts.ts'
import type { Clock } from '../../base/clock.ts'
import type { SaleId } from '../../domain/ids.ts'
import { type AuditLine, isExplained } from '../../flows/check/audit-sale.ts'
import type { ProviderHealth } from '../../flows/check/provider-health.ts'
import { sellingOf } from '../../flows/check/watch-sale.ts'
import type { MissingBeacon } from '../../flows/line/follow-draws.ts'
import type { LiveItem } from '../../flows/sell/live-item.ts'
import type { PageTrouble } from '../../flows/tell/page-notices.ts'
import type { FailingChannel } from '../../flows/tell/send-alerts.ts'
import type { StuckPayments } from '../../ledger/payments.ts'
import type { PlainMetric } from '../../telemetry/plain-metric.ts'
import type { TroubleCode } from '../../wire/monitor-codes.ts'

interface Finding {
  readonly code: TroubleCode
  /** Tells findings of the same code apart: a promise's number, an alarm's or a setting's name. */
  readonly which?: string
  readonly sale?: string
  readonly item?: string
  readonly count?: number
  /** What the check found. */
  readonly words?: string
  /** How long it may last before it is trouble. */
  readonly graceMs?: number
  /** Of findings with the same group, sale and item one follows the other: they share their grace time. */
  readonly group?: string
}

export interface Trouble extends Omit<Finding, 'graceMs' | 'group'> {
  readonly sinceMs: number
}

/** A setting that no shop should run with, and why. */
export type UnsafeSetting = Required<Pick<Finding, 'which' | 'words'>>

const SEEN_MIN = 2
/** Shorter than this, an item that is not sold is no trouble: epochs change, clocks are compared again. */
const GRACE_MS = 5_000
/** The leader of a ledger with little in it builds them at once. */
const INDEXES_GRACE_MS = 60_000
/** A round of drand is published some seconds after the seal. */
const BEACON_GRACE_MS = 15_000
const WORST_FIRST: readonly TroubleCode[] = [
  'promise_broken',
  'inconsistent',
  'ledger_away',
  'unready',
  'door_shut',
  'clock_skew',
  'withdrawn',
  'unsettled',
  'unsafe_setting',
  'token_guessing',
  'limits_differ',
  'risk_silent',
  'alarm',
  'beacon_missing',
  'provider_silent',
  'refunds_stuck',
  'refunds_unconfirmed',
  'provider_missing',
  'indexes_missing',
  'pages_behind',
  'alerts_failing',
]

interface Known {
  readonly finding: Finding
  readonly sinceMs: number
  readonly fromMs: number
  readonly seen: number
}

export class TroubleBoard {
  readonly #clock: Clock
  readonly #scopes = new Map<string, ReadonlyMap<string, Known>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Replaces what the last round of this scope found. */
  see(scope: string, findings: readonly Finding[]): void {
    const before = this.#scopes.get(scope)
    const groups = new Map([...(before?.values() ?? [])].map(known => [groupOf(known.finding), known]))
    const now = new Map<string, Known>()
    for (const finding of findings) {
      const key = [finding.code, finding.which, finding.sale, finding.item].join('/')
      const goesOn = finding.group === undefined ? undefined : groups.get(groupOf(finding))
      const first = { fromMs: this.#clock.elapsed(), seen: 0, ...goesOn, sinceMs: this.#clock.now() }
      const known = before?.get(key) ?? first
      now.set(key, { ...known, finding, seen: known.seen + 1 })
    }
    if (now.size === 0) this.#scopes.delete(scope)
    else this.#scopes.set(scope, now)
  }

  /** Worst first, then oldest first. */
  list(): readonly Trouble[] {
    const found: Trouble[] = []
    for (const scope of this.#scopes.values()) {
      for (const { finding, sinceMs, fromMs, seen } of scope.values()) {
        const { graceMs = 0, group: _group, ...shown } = finding
        if (seen >= SEEN_MIN && this.#clock.elapsed() - fromMs >= graceMs) found.push({ ...shown, sinceMs })
      }
    }
    return found.sort((a, b) => rank(a) - rank(b) || a.sinceMs - b.sinceMs)
  }
}

function groupOf({ group, sale, item }: Finding): string {
  return [group, sale, item].join('/')
}

function rank({ code }: Trouble): number {
  return WORST_FIRST.indexOf(code)
}

export async function processFindings(seen: {
  readonly missing: readonly string[]
  readonly ledgerAway: boolean
  readonly stuck: readonly StuckPayments[]
  readonly silent: ReturnType<ProviderHealth['silent']>
  readonly providers: ReadonlyMap<string, unknown>
  readonly indexesMissing: readonly string[]
  readonly metrics: readonly PlainMetric[]
  readonly unsafe: readonly UnsafeSetting[]
  readonly guessing: ReturnType<OperatorGuard['guessing']>
  readonly limitsDiffer: readonly LimitDifference[]
  readonly pagesBehind: readonly PageTrouble[]
  readonly isRiskSilent: boolean
  readonly beaconsMissing: readonly MissingBeacon[]
  readonly alertsFailing: readonly FailingChannel[]
}): Promise<readonly Finding[]> {
  const found: Finding[] = seen.missing.map(words => ({ code: 'unready', which: words, words }))
  if (seen.ledgerAway) found.push({ code: 'ledger_away' })
  for (const { provider, count } of seen.silent) found.push({ code: 'provider_silent', which: provider, count })
  const refunds = seen.stuck.reduce((sum, one) => sum + one.refunds, 0)
  if (refunds > 0) found.push({ code: 'refunds_stuck', count: refunds })
  for (const { provider, unconfirmed } of seen.stuck)
    if (unconfirmed > 0) found.push({ code: 'refunds_unconfirmed', which: provider, count: unconfirmed })
  for (const { provider, open } of seen.stuck)
    if (!seen.providers.has(provider)) found.push({ code: 'provider_missing', which: provider, count: open })
  if (seen.indexesMissing.length > 0) {
    const words = seen.indexesMissing.join(', ')
    found.push({ code: 'indexes_missing', count: seen.indexesMissing.length, words, graceMs: INDEXES_GRACE_MS })
  }
  for (const { which, words } of seen.unsafe) found.push({ code: 'unsafe_setting', which, words })
  if (seen.guessing !== undefined) {
    const { count, address } = seen.guessing
    found.push({ code: 'token_guessing', count, words: `last from ${address}` })
  }
  for (const { limit: which, words } of seen.limitsDiffer)
    found.push({ code: 'limits_differ', which, words, graceMs: GRACE_MS })
  for (const { which, words } of seen.pagesBehind) found.push({ code: 'pages_behind', which, words, graceMs: GRACE_MS })
  if (seen.isRiskSilent) found.push({ code: 'risk_silent', graceMs: GRACE_MS })
  for (const { sale, source, isFetched } of seen.beaconsMissing)
    found.push({ code: 'beacon_missing', sale, words: source, graceMs: isFetched ? BEACON_GRACE_MS : 0 })
  for (const { channel: which, words } of seen.alertsFailing) found.push({ code: 'alerts_failing', which, words })
  const alarms = await seen.metrics.find(metric => metric.name === 'stampede_alarms_total')?.read()
  for (const { labels, value } of alarms ?? [])
    if (value > 0) found.push({ code: 'alarm', which: labels.kind ?? '', count: value })
  return found
}

export function itemFindings(liveItem: LiveItem, nowMs: number): readonly Finding[] {
  const { sale, item, unsettled } = liveItem
  const found: Finding[] = []
  const add = (code: Finding['code'], more?: Partial<Finding>) =>
    found.push({ sale: sale.id, item: item.id, graceMs: GRACE_MS, code, ...more })
  const offSale = { group: 'off_sale' }
  const notOver = sale.state !== 'over' && nowMs < sale.closesAtMs
  const selling = sellingOf(liveItem)
  if (selling === 'skewed') add('clock_skew', offSale)
  if (selling === 'shut' && notOver) add('door_shut', offSale)
  if (selling === 'withdrawn' && notOver && nowMs >= sale.opensAtMs) add('withdrawn', offSale)
  if (unsettled.size > 0) add('unsettled', { count: unsettled.size })
  return found
}

export function auditFindings(sale: SaleId, line: AuditLine): readonly Finding[] {
  const { item, violations } = line
  if (violations.length > 0)
    return violations.map(({ promise, message: words }) => {
      return { code: 'promise_broken', which: `${promise}`, sale, item, words }
    })
  const { units, available, pending, paid, gate, outbox, releases, miscounted } = line
  const found: Finding[] = []
  if (miscounted > 0) {
    const words = `the outbox's counter is off by ${miscounted} units: it was written from outside; reconciliation corrects it`
    found.push({ code: 'inconsistent', which: 'outbox_count', sale, item, count: miscounted, words })
  }
  if (isExplained(line)) return found
  const words = line.addsUp
    ? `gate ${gate?.left} left and ${gate?.held} held, ${outbox} + ${releases} on their way; ledger ${available} available, ${pending + paid} in orders`
    : `${available} available + ${pending} pending + ${paid} paid is not ${units} units`
  return [...found, { code: 'inconsistent', sale, item, words }]
}
