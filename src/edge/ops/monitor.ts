/**
 * Watches over the process and its sales, and says what is wrong since when: once a second what costs nothing, every few seconds the audit
 * of every sale on the shelf, and at each look of an operator the audit of the sale looked at. Changes nothing and repairs nothing; what it
 * can't find out because the ledger is away is itself a finding.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import { type AuditLine, type AuditParts, isExplained } from '../../flows/check/audit-sale.ts'
import { createSharedAudit } from '../../flows/check/shared-audit.ts'
import {
  type SaleLook,
  sellingOf,
  type WatchSaleParts,
  watchRegistry,
  watchSale,
} from '../../flows/check/watch-sale.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Payments } from '../../ledger/payments.ts'
import type { Reconciliation, Report } from '../../ledger/reconciliation.ts'
import type { PlainMetric } from '../../telemetry/plain-metric.ts'
import type { Readiness } from '../routes/health-routes.ts'
import { createRecentFigures, type Funnel, type Sample } from './recent-figures.ts'
import { createTroubleBoard, type Finding, type Trouble } from './trouble-board.ts'

export interface MonitorParts extends WatchSaleParts, AuditParts {
  readonly near: LocalView
  readonly payments: Pick<Payments, 'refundsWaiting'>
  readonly reconciliation: Pick<Reconciliation, 'reports' | 'audit'>
  readonly readiness: Readiness
  readonly metrics: readonly PlainMetric[]
  readonly clock: Clock
}

interface Reconciled {
  readonly atMs: number
  readonly differences: number
  readonly repairs: number
}

export interface Watch extends SaleLook {
  readonly funnel: Funnel
  readonly recent: readonly Sample[]
  readonly reconciled: Reconciled | undefined
  readonly trouble: readonly Trouble[]
}

export interface Monitor {
  /** Once a second. */
  round(): Promise<void>
  /** Reconciliation has run by itself. */
  reconciled(sale: SaleId, report: Report): void
  /** With the samples after a moment. Undefined: there is no such sale. */
  watch(sale: SaleId, afterMs: number): Promise<Watch | undefined>
  trouble(): readonly Trouble[]
}

const AUDIT_EVERY_MS = 5_000
/** How long the ledger rests between audits, as a multiple of what the last one took: while nobody looks, and while somebody does. */
const REST_UNSEEN = 50
const REST_SEEN = 10
const HICCUP_MS = 5_000
/** A ledger that takes longer to answer a look is as good as away: whoever looks must hear of it. */
const LEDGER_MS_MAX = 2_000
/** Refunds are tried again with growing waits: so many tries are a quarter of a minute. */
const REFUND_TRIES_MAX = 4
const RECONCILED_MAX = 1000
const PROCESS = 'process'

export function createMonitor(parts: MonitorParts): Monitor {
  const { clock, registry } = parts
  const board = createTroubleBoard(clock)
  const figures = createRecentFigures({ ...parts, line: () => sumOf(liveItem => liveItem.line.depth()) })
  const reconciled = new Map<SaleId, Reconciled>()
  const audit = createSharedAudit(parts)
  /** The last audit of each sale that was judged. */
  const audited = new Map<SaleId, readonly AuditLine[]>()
  let auditedAtMs = Number.NEGATIVE_INFINITY
  let refundsStuck = 0
  let ledgerAway = false

  function sumOf(figure: (liveItem: typeof registry extends Map<string, infer T> ? T : never) => number): number {
    let sum = 0
    for (const liveItem of registry.values()) sum += figure(liveItem)
    return sum
  }

  async function round(): Promise<void> {
    await figures.sample()
    if (clock.elapsed() - auditedAtMs >= AUDIT_EVERY_MS) {
      auditedAtMs = clock.elapsed()
      await auditAll()
    }
    board.see(PROCESS, [...(await processFindings()), ...registryFindings()])
  }

  /** Sales that have left the shelf are forgotten. */
  async function auditAll(): Promise<void> {
    const sales = new Map<SaleId, Sale>()
    for (const { sale } of registry.values()) sales.set(sale.id, sale)
    try {
      refundsStuck = await soon(parts.payments.refundsWaiting(REFUND_TRIES_MAX))
      for (const sale of sales.values()) note(sale.id, (await soon(audit(sale, REST_UNSEEN))).lines)
      ledgerAway = false
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      ledgerAway = true
    }
    for (const id of audited.keys()) if (!sales.has(id)) forget(id)
  }

  async function auditSeen(sale: Sale) {
    const { lines, beganMs } = await audit(sale, REST_SEEN)
    return { audit: lines, ageMs: clock.elapsed() - beganMs }
  }

  async function lookAt(id: SaleId): Promise<SaleLook | undefined> {
    if (ledgerAway) return watchRegistry(parts, id) ?? soon(watchSale(parts, auditSeen, id))
    try {
      return await soon(watchSale(parts, auditSeen, id))
    } catch (error) {
      const known = watchRegistry(parts, id)
      if (!(error instanceof Fault) || known === undefined) throw error
      // Until the next round of audits has found it again.
      ledgerAway = true
      return known
    }
  }

  /** What comes too late is heard by nobody. */
  async function soon<T>(asked: Promise<T>): Promise<T> {
    const done = new AbortController()
    const late = clock.sleep(LEDGER_MS_MAX, done.signal).then(() => {
      if (!done.signal.aborted)
        throw new Fault('ledger_slow', 'the ledger does not answer in time', { retryable: true })
      return asked
    })
    try {
      return await Promise.race([asked, late])
    } finally {
      done.abort()
    }
  }

  /** One audit that is shown twice was seen once. */
  function note(sale: SaleId, lines: readonly AuditLine[]): void {
    if (audited.get(sale) === lines) return
    audited.set(sale, lines)
    board.see(
      sale,
      lines.flatMap(line => findingsOf(sale, line)),
    )
  }

  function forget(sale: SaleId): void {
    audited.delete(sale)
    board.see(sale, [])
  }

  async function processFindings(): Promise<readonly Finding[]> {
    const missing = parts.readiness()
    const found: Finding[] = missing.map(words => ({ code: 'unready', which: words, words }))
    if (ledgerAway) found.push({ code: 'ledger_away' })
    if (refundsStuck > 0) found.push({ code: 'refunds_stuck', count: refundsStuck })
    const alarms = await parts.metrics.find(metric => metric.name === 'stampede_alarms_total')?.read()
    for (const { labels, value } of alarms ?? [])
      if (value > 0) found.push({ code: 'alarm', which: labels.kind ?? '', count: value })
    return found
  }

  function* registryFindings(): Generator<Finding> {
    const nowMs = parts.near.nowMs()
    for (const liveItem of registry.values()) {
      const where = { sale: liveItem.sale.id, item: liveItem.item.id, patienceMs: HICCUP_MS }
      const ahead = !liveItem.retired && liveItem.sale.state !== 'over' && nowMs < liveItem.sale.closesAtMs
      const open = ahead && nowMs >= liveItem.sale.opensAtMs
      const selling = sellingOf(liveItem)
      if (selling === 'skewed') yield { ...where, code: 'clock_skew' }
      if (selling === 'shut' && ahead) yield { ...where, code: 'door_shut' }
      if (selling === 'withdrawn' && open) yield { ...where, code: 'withdrawn' }
      if (liveItem.unsettled.size > 0) yield { ...where, code: 'unsettled', count: liveItem.unsettled.size }
    }
  }

  async function lastReconciled(sale: SaleId): Promise<Reconciled | undefined> {
    const own = reconciled.get(sale)
    const [kept] = await parts.reconciliation.reports(sale, 1)
    if (kept === undefined || (own !== undefined && own.atMs >= kept.atMs)) return own
    return { atMs: kept.atMs, differences: kept.differences.length, repairs: kept.repairs.length }
  }

  return {
    round,
    reconciled(sale, { differences, repairs }) {
      reconciled.delete(sale)
      for (const oldest of reconciled.keys()) if (reconciled.size >= RECONCILED_MAX) reconciled.delete(oldest)
      reconciled.set(sale, { atMs: clock.now(), differences: differences.length, repairs: repairs.length })
    },
    async watch(id, afterMs) {
      const look = await lookAt(id)
      if (look === undefined) return undefined
      if (look.audit !== undefined) note(id, look.audit)
      return {
        ...look,
        // What is only moving is no reason to call the books wrong.
        audit: look.audit?.map(line => ({ ...line, consistent: isExplained(line) })),
        funnel: await figures.funnel(sumOf(liveItem => liveItem.unsettled.size)),
        recent: figures.since(afterMs),
        reconciled: look.audit === undefined ? reconciled.get(id) : await soon(lastReconciled(id)),
        trouble: board.list(),
      }
    },
    trouble: () => board.list(),
  }
}

function findingsOf(sale: SaleId, line: AuditLine): readonly Finding[] {
  const { item, violations } = line
  if (violations.length > 0)
    return violations.map(({ promise, message }) => ({
      code: 'promise_broken',
      which: `${promise}`,
      sale,
      item,
      words: message,
    }))
  if (isExplained(line)) return []
  const { units, available, pending, paid, gate, outbox, releases } = line
  const words = line.addsUp
    ? `gate ${gate?.left} left and ${gate?.held} held, ${outbox} + ${releases} on their way; ledger ${available} available, ${pending + paid} in orders`
    : `${available} available + ${pending} pending + ${paid} paid is not ${units} units`
  return [{ code: 'inconsistent', sale, item, words }]
}
