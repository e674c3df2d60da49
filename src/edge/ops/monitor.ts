/**
 * Watches the process and its sales, and says what is wrong since when: once a second what this process knows by itself, every few seconds
 * the audit of every live sale, and at each request of an operator the audit of the sale asked for. Changes nothing and repairs nothing.
 *
 * States: ledger present → away (an audit or a request failed or took too long; sales are shown without an audit) → present (an audit of
 * all sales succeeded).
 *
 * A bug in an audit costs that audit alone: the round looks at everything else, and then throws it.
 */

import type { OperatorGuard } from '../../admission/operator-guard.ts'
import type { LimitDifference } from '../../admission/shared-counts.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import { type AuditLine, isExplained } from '../../flows/check/audit-sale.ts'
import type { AuditContext } from '../../flows/check/check-context.ts'
import type { ProviderHealth } from '../../flows/check/provider-health.ts'
import { createSharedAudit } from '../../flows/check/shared-audit.ts'
import { type WatchContext, type WatchedSale, watchRegistry, watchSale } from '../../flows/check/watch-sale.ts'
import type { MissingBeacon } from '../../flows/line/follow-draws.ts'
import type { LiveItem, StockView } from '../../flows/sell/live-item.ts'
import type { PageTrouble } from '../../flows/tell/page-notices.ts'
import type { FailingChannel } from '../../flows/tell/send-alerts.ts'
import type { Payments, StuckPayments } from '../../ledger/payments.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'
import type { PlainMetric } from '../../telemetry/plain-metric.ts'
import type { FunnelStep } from '../../wire/monitor-codes.ts'
import type { Readiness } from '../routes/operations-routes.ts'
import type { AskTally } from './ask-tally.ts'
import { RecentFigures } from './recent-figures.ts'
import {
  auditFindings,
  itemFindings,
  processFindings,
  type Trouble,
  TroubleBoard,
  type UnsafeSetting,
} from './trouble-board.ts'

interface MonitorParts extends WatchContext, AuditContext {
  readonly stock: StockView
  readonly payments: Pick<Payments, 'stuck'>
  readonly health: Pick<ProviderHealth, 'refresh' | 'silent'>
  /** Payment providers that can be asked, by name. */
  readonly providers: ReadonlyMap<string, { readonly reports?: boolean | undefined }>
  /** Names of indexes of large tables that are not built yet. */
  readonly indexes: { missing(): Promise<readonly string[]> }
  readonly reconciliation: Pick<Reconciliation, 'reports' | 'audit'>
  readonly asks: Pick<AskTally, 'own' | 'all'>
  readonly readiness: Readiness
  readonly metrics: readonly PlainMetric[]
  /** Settings that no shop should run with. They stay as they are until the process ends. */
  readonly unsafe: readonly UnsafeSetting[]
  /** Are operators' tokens being guessed? */
  readonly guessing: OperatorGuard['guessing']
  /** Rate limits that are not the same at all edges that share them. */
  readonly limitsDiffer: () => readonly LimitDifference[]
  /** Pre-rendered pages that this process, if it leads, could not put where they belong. */
  readonly pagesBehind: () => readonly PageTrouble[]
  /** Does the shop's risk hook fail again and again? */
  readonly isRiskSilent: () => boolean
  /** Draws that wait for the value they have named. */
  readonly beaconsMissing: () => readonly MissingBeacon[]
  /** Channels that alerts have not reached for a while. */
  readonly alertsFailing: () => readonly FailingChannel[]
  readonly clock: Clock
}

interface Summary {
  readonly funnel: Readonly<Record<FunnelStep, number>> & { readonly sinceMs: number }
  readonly reconciled: { readonly atMs: number; readonly differences: number; readonly repairs: number } | undefined
}

export type Watch = NonNullable<Awaited<ReturnType<Monitor['watch']>>>

const AUDIT_EVERY_MS = 5_000
/** The ledger rests between two audits of a sale, for a multiple of what the last one took: in the background, and for an operator. */
const REST_IN_BACKGROUND = 50
const REST_FOR_OPERATOR = 10
/** A ledger that takes longer to answer counts as away. */
const LEDGER_MS_MAX = 2_000
/** Refunds are tried again with growing waits: so many tries are a quarter of a minute. */
const REFUND_TRIES_MAX = 4
/** A shop that gives refunds by hand has a day for each. */
const REFUND_CONFIRMED_WITHIN_MS = 86_400_000
const SUMMARIES_MAX = 1000
const PROCESS = 'process'

export class Monitor {
  readonly #parts: MonitorParts
  readonly #board: TroubleBoard
  readonly #figures: RecentFigures
  readonly #audit: ReturnType<typeof createSharedAudit>
  readonly #within: ReturnType<typeof createSharedTimeout>
  /** The last audit of each sale whose findings are on the board. */
  readonly #judged = new Map<SaleId, readonly AuditLine[]>()
  /** Items whose every unit is in a paid order, as of that audit. */
  readonly #allPaid = new Set<ItemId>()
  /** The last of each sale, for the time without the ledger. */
  readonly #summaries = new Map<SaleId, Summary>()
  #auditedAtMs = Number.NEGATIVE_INFINITY
  #stuck: readonly StuckPayments[] = []
  #indexesMissing: readonly string[] = []
  #ledgerAway = false
  #bug: { readonly error: unknown } | undefined

  constructor(parts: MonitorParts) {
    const { clock, metrics } = parts
    this.#parts = parts
    this.#board = new TroubleBoard(clock)
    this.#figures = new RecentFigures(metrics, () => this.#sumOf(({ queue }) => queue.depth()), clock)
    this.#audit = createSharedAudit(parts)
    this.#within = createSharedTimeout({ clock, ms: LEDGER_MS_MAX })
  }

  /** Once a second. */
  async round(): Promise<void> {
    const {
      clock,
      registry,
      stock,
      readiness,
      metrics,
      unsafe,
      guessing,
      limitsDiffer,
      beaconsMissing,
      providers,
      health,
    } = this.#parts
    await this.#figures.sample()
    if (clock.elapsed() - this.#auditedAtMs >= AUDIT_EVERY_MS) {
      this.#auditedAtMs = clock.elapsed()
      await this.#auditAll()
    }
    const seen = {
      missing: readiness(),
      ledgerAway: this.#ledgerAway,
      stuck: this.#stuck,
      silent: health.silent(),
      providers,
      indexesMissing: this.#indexesMissing,
      metrics,
      unsafe,
      guessing: guessing(),
      limitsDiffer: limitsDiffer(),
      pagesBehind: this.#parts.pagesBehind(),
      isRiskSilent: this.#parts.isRiskSilent(),
      beaconsMissing: beaconsMissing(),
      alertsFailing: this.#parts.alertsFailing(),
    }
    const found = [...(await processFindings(seen))]
    for (const liveItem of registry.values()) found.push(...itemFindings(liveItem, stock.nowMs()))
    this.#board.see(PROCESS, found)
    const bug = this.#bug
    this.#bug = undefined
    if (bug !== undefined) throw bug.error
  }

  /** With the samples after a moment. Undefined: there is no such sale. */
  async watch(id: SaleId, afterMs: number) {
    const found = await this.#see(id)
    if (found === undefined) return undefined
    const { beganMs, ...seen } = found
    if (seen.audit !== undefined) this.#judge(id, seen.audit)
    const summary =
      seen.audit === undefined ? this.#withoutLedger(id) : await this.#inTime(this.#summarize(id, seen.audit))
    const nowMs = this.#parts.clock.elapsed()
    return {
      ...seen,
      // Units that are moving do not make the books inconsistent.
      audit: seen.audit?.map(line => ({ ...line, consistent: isExplained(line) })),
      ...summary,
      // Last of all: time passed since the count, also while the summary was read.
      ageMs: nowMs - (beganMs ?? nowMs),
      recent: this.#figures.since(afterMs),
      trouble: this.trouble(),
    }
  }

  /** Seconds old, and not known of a sale that is not live. */
  isAllPaid(item: ItemId): boolean {
    return this.#allPaid.has(item)
  }

  trouble(): readonly Trouble[] {
    return this.#board.list()
  }

  #sumOf(figure: (liveItem: LiveItem) => number): number {
    let sum = 0
    for (const liveItem of this.#parts.registry.values()) sum += figure(liveItem)
    return sum
  }

  /** Forgets what was found about sales that are not live any more. */
  async #auditAll(): Promise<void> {
    const sales = new Map<SaleId, Sale>()
    for (const { sale } of this.#parts.registry.values()) sales.set(sale.id, sale)
    this.#ledgerAway = !(await this.#each([
      async () => {
        const { payments, providers, indexes, health } = this.#parts
        const confirming = [...providers].filter(([, { reports }]) => reports).map(([name]) => name)
        this.#stuck = await this.#inTime(
          payments.stuck(REFUND_TRIES_MAX, [...providers.keys()], {
            providers: confirming,
            withinMs: REFUND_CONFIRMED_WITHIN_MS,
          }),
        )
        this.#indexesMissing = await this.#inTime(indexes.missing())
        await this.#inTime(health.refresh())
      },
      ...[...sales.values()].map(sale => async () => {
        this.#judge(sale.id, (await this.#inTime(this.#audit(sale, REST_IN_BACKGROUND))).lines)
      }),
    ]))
    for (const [id, lines] of this.#judged) {
      if (sales.has(id)) continue
      this.#judged.delete(id)
      for (const { item } of lines) this.#allPaid.delete(item)
      this.#board.see(id, [])
    }
  }

  /** One after the other, until a fault: then false. A bug is kept for the end of the round. */
  async #each(steps: readonly (() => Promise<void>)[]): Promise<boolean> {
    for (const step of steps) {
      try {
        await step()
      } catch (error) {
        if (error instanceof Fault) return false
        this.#bug = { error }
      }
    }
    return true
  }

  /** The same audit shown twice counts as seen once. */
  #judge(sale: SaleId, lines: readonly AuditLine[]): void {
    if (this.#judged.get(sale) === lines) return
    this.#judged.set(sale, lines)
    for (const { item, paid, units } of lines)
      if (units > 0 && paid === units) this.#allPaid.add(item)
      else this.#allPaid.delete(item)
    this.#board.see(
      sale,
      lines.flatMap(line => auditFindings(sale, line)),
    )
  }

  async #see(id: SaleId): Promise<WatchedSale | undefined> {
    const known = () => watchRegistry(this.#parts, id)
    const read = () => this.#inTime(watchSale(this.#parts, sale => this.#auditFor(sale), id))
    if (this.#ledgerAway) return known() ?? read()
    try {
      return await read()
    } catch (error) {
      const withoutAudit = known()
      if (!(error instanceof Fault) || withoutAudit === undefined) throw error
      this.#ledgerAway = true
      return withoutAudit
    }
  }

  async #auditFor(sale: Sale): Promise<Pick<WatchedSale, 'audit' | 'beganMs'>> {
    const { lines, beganMs } = await this.#audit(sale, REST_FOR_OPERATOR)
    return { audit: lines, beganMs }
  }

  /** What all processes did for the sale: how they answered its buyers, and the last reconciliation, by whichever process it ran. */
  async #summarize(sale: SaleId, audit: readonly AuditLine[]): Promise<Summary> {
    const { asks, reconciliation } = this.#parts
    const [asked, [last]] = await Promise.all([asks.all(sale), reconciliation.reports(sale, 1)])
    const sum = (figure: (line: AuditLine) => number) => audit.reduce((total, line) => total + figure(line), 0)
    const placed = sum(line => line.ordersPlaced)
    const reserved = placed + sum(line => line.ordersRefused + line.outbox)
    const summary = {
      funnel: { ...asked, reserved, placed, paid: sum(line => line.ordersPaid) },
      reconciled: last && { atMs: last.atMs, differences: last.differences.length, repairs: last.repairs.length },
    }
    const known = this.#summaries
    known.delete(sale)
    for (const oldest of known.keys()) if (known.size >= SUMMARIES_MAX) known.delete(oldest)
    known.set(sale, summary)
    return summary
  }

  #withoutLedger(sale: SaleId): Summary {
    const funnel = () => ({ ...this.#parts.asks.own(sale), reserved: 0, placed: 0, paid: 0 })
    return this.#summaries.get(sale) ?? { funnel: funnel(), reconciled: undefined }
  }

  async #inTime<T>(asked: Promise<T>): Promise<T> {
    const answer = await this.#within(asked.then(value => ({ value })))
    if (answer === undefined) throw new Fault('ledger_slow', 'the ledger does not answer in time', { retryable: true })
    return answer.value
  }
}
