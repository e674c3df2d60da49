/**
 * The audit for whoever watches, as fresh as it is cheap. An audit counts every order of a sale: next to nothing for a thousand of them, a good
 * part of a second of the ledger's time for a million, and watching must not take from the buyers what it watches. So after each audit the ledger
 * rests a multiple of the time it took, half a minute at most; who asks meanwhile is shown the last one, and who asks while one runs shares it.
 * What was found wrong is looked at again after seconds: who mends it wants to see that it is.
 *
 * Bounded by the sales that are asked for: one that nobody has asked for in a minute is forgotten.
 */

import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import { type AuditLine, type AuditParts, auditItems, isExplained } from './audit-sale.ts'

interface Audit {
  readonly lines: readonly AuditLine[]
  /** When it was asked for, on the clock that only goes forward. */
  readonly beganMs: number
}

/** @param rest how many times as long as the last count took the ledger is left alone at least */
type SharedAudit = (sale: Sale, rest: number) => Promise<Audit>

interface Audited {
  readonly audit: Promise<Audit>
  endedAtMs: number
  askedAtMs: number
  restMsMax: number
}

const FORGOTTEN_AFTER_MS = 60_000
/** An audit may have taken long because the ledger hung: whoever watches wants to know what came of it. */
const REST_MS_MAX = 30_000
const REST_WRONG_MS_MAX = 5_000

export function createSharedAudit(parts: AuditParts): SharedAudit {
  const { clock } = parts
  const known = new Map<SaleId, Audited>()
  /** How long the ledger last took to count a sale once, however often it was looked at. */
  const tookMs = new Map<SaleId, number>()

  const reconciliation: AuditParts['reconciliation'] = {
    async audit(sale) {
      const fromMs = clock.elapsed()
      const counted = await parts.reconciliation.audit(sale)
      tookMs.set(sale, clock.elapsed() - fromMs)
      return counted
    },
  }

  function forget(sale: SaleId): void {
    known.delete(sale)
    tookMs.delete(sale)
  }

  function forgetOld(nowMs: number): void {
    for (const [sale, { askedAtMs, endedAtMs }] of known)
      if (endedAtMs <= nowMs && nowMs - askedAtMs > FORGOTTEN_AFTER_MS) forget(sale)
  }

  async function begin(sale: Sale, beganMs: number): Promise<Audit> {
    return { lines: await auditItems({ ...parts, reconciliation }, sale, isExplained), beganMs }
  }

  return (sale, rest) => {
    const nowMs = clock.elapsed()
    forgetOld(nowMs)
    const last = known.get(sale.id)
    if (last !== undefined) {
      last.askedAtMs = nowMs
      const restMs = Math.min((tookMs.get(sale.id) ?? 0) * rest, last.restMsMax)
      if (nowMs - last.endedAtMs < restMs) return last.audit
    }
    const audit = begin(sale, nowMs)
    const audited: Audited = {
      audit,
      endedAtMs: Number.POSITIVE_INFINITY,
      askedAtMs: nowMs,
      restMsMax: REST_MS_MAX,
    }
    known.set(sale.id, audited)
    audit.then(
      ({ lines }) => {
        audited.endedAtMs = clock.elapsed()
        if (!lines.every(isExplained)) audited.restMsMax = REST_WRONG_MS_MAX
      },
      // Nothing to show: the next who asks tries again.
      () => forget(sale.id),
    )
    return audit
  }
}
