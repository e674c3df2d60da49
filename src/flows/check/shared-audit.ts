/**
 * Audits for the operations page and the monitor, shared and limited. An audit counts every order of a sale: almost free for a thousand
 * orders, a good part of a second of the ledger's time for a million. So after each audit the ledger rests for a multiple of the time it
 * took, half a minute at most; meanwhile callers get the last audit, and callers during an audit share it. An audit that found something
 * wrong is repeated after seconds, so that a repair is seen.
 *
 * Bounded by the sales asked for: one not asked for within a minute is forgotten.
 */

import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import { type AuditLine, auditItems, isExplained } from './audit-sale.ts'
import type { AuditContext } from './check-context.ts'

interface Audit {
  readonly lines: readonly AuditLine[]
  /** Monotonic. */
  readonly beganMs: number
}

/** @param rest the least rest of the ledger, as a multiple of the time that the last count took */
type SharedAudit = (sale: Sale, rest: number) => Promise<Audit>

interface Entry {
  readonly audit: Promise<Audit>
  endedAtMs: number
  askedAtMs: number
  restMsMax: number
}

const FORGOTTEN_AFTER_MS = 60_000
/** An audit may have taken long because the ledger hung, so the rest is bounded. */
const REST_MS_MAX = 30_000
const REST_WRONG_MS_MAX = 5_000

export function createSharedAudit(context: AuditContext): SharedAudit {
  const { clock } = context
  const entries = new Map<SaleId, Entry>()
  /** How long the ledger last took to count a sale once; an audit may count several times. */
  const tookMs = new Map<SaleId, number>()

  const reconciliation: AuditContext['reconciliation'] = {
    async audit(sale) {
      const fromMs = clock.elapsed()
      const counted = await context.reconciliation.audit(sale)
      tookMs.set(sale, clock.elapsed() - fromMs)
      return counted
    },
  }

  function forget(sale: SaleId): void {
    entries.delete(sale)
    tookMs.delete(sale)
  }

  function begin(sale: Sale, nowMs: number): Promise<Audit> {
    const lines = auditItems({ ...context, reconciliation }, sale, isExplained)
    const audit = lines.then(found => ({ lines: found, beganMs: nowMs }))
    const entry = { audit, endedAtMs: Number.POSITIVE_INFINITY, askedAtMs: nowMs, restMsMax: REST_MS_MAX }
    entries.set(sale.id, entry)
    lines.then(
      found => {
        entry.endedAtMs = clock.elapsed()
        if (!found.every(isExplained)) entry.restMsMax = REST_WRONG_MS_MAX
      },
      // Nothing to show: the next caller tries again.
      () => forget(sale.id),
    )
    return audit
  }

  return (sale, rest) => {
    const nowMs = clock.elapsed()
    for (const [id, { askedAtMs, endedAtMs }] of entries)
      if (endedAtMs <= nowMs && nowMs - askedAtMs > FORGOTTEN_AFTER_MS) forget(id)
    const last = entries.get(sale.id)
    if (last === undefined) return begin(sale, nowMs)
    last.askedAtMs = nowMs
    const restMs = Math.min((tookMs.get(sale.id) ?? 0) * rest, last.restMsMax)
    return nowMs - last.endedAtMs < restMs ? last.audit : begin(sale, nowMs)
  }
}
