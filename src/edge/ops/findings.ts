/** What the monitor finds wrong, by looking at one live item, one line of an audit, or the process. Pure but for reading the alarms. */

import type { SaleId } from '../../domain/ids.ts'
import { type AuditLine, isExplained } from '../../flows/check/audit-sale.ts'
import { sellingOf } from '../../flows/check/watch-sale.ts'
import type { LiveItem } from '../../flows/sell/live-item.ts'
import type { PlainMetric } from '../../telemetry/plain-metric.ts'
import type { Finding } from './trouble-board.ts'

/** Shorter than this, an item that is not sold is no trouble: epochs change, clocks are compared again. */
const GRACE_MS = 5_000

export async function processFindings(seen: {
  readonly missing: readonly string[]
  readonly ledgerAway: boolean
  readonly refundsStuck: number
  readonly metrics: readonly PlainMetric[]
}): Promise<readonly Finding[]> {
  const found: Finding[] = seen.missing.map(words => ({ code: 'unready', which: words, words }))
  if (seen.ledgerAway) found.push({ code: 'ledger_away' })
  if (seen.refundsStuck > 0) found.push({ code: 'refunds_stuck', count: seen.refundsStuck })
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
  const notOver = sale.state !== 'over' && nowMs < sale.closesAtMs
  const selling = sellingOf(liveItem)
  if (selling === 'skewed') add('clock_skew')
  if (selling === 'shut' && notOver) add('door_shut')
  if (selling === 'withdrawn' && notOver && nowMs >= sale.opensAtMs) add('withdrawn')
  if (unsettled.size > 0) add('unsettled', { count: unsettled.size })
  return found
}

export function auditFindings(sale: SaleId, line: AuditLine): readonly Finding[] {
  const { item, violations } = line
  if (violations.length > 0)
    return violations.map(({ promise, message: words }) => ({
      code: 'promise_broken',
      which: `${promise}`,
      sale,
      item,
      words,
    }))
  if (isExplained(line)) return []
  const { units, available, pending, paid, gate, outbox, releases } = line
  const words = line.addsUp
    ? `gate ${gate?.left} left and ${gate?.held} held, ${outbox} + ${releases} on their way; ledger ${available} available, ${pending + paid} in orders`
    : `${available} available + ${pending} pending + ${paid} paid is not ${units} units`
  return [{ code: 'inconsistent', sale, item, words }]
}
