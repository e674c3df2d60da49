/**
 * The audit for whoever watches, as fresh as it is cheap. An audit counts every order of a sale: nothing for a thousand of them, half a
 * second of the ledger's time for a million, and watching must not take from the buyers what it watches. So after each audit the ledger
 * rests a multiple of the time it took; who asks meanwhile is shown the last one, and who asks while one runs shares it.
 *
 * Bounded by the sales that are asked for: one that nobody has asked for in a minute is forgotten.
 */

import type { SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'
import { type AuditLine, type AuditParts, auditItems, isExplained } from './audit-sale.ts'

/** @param rest how many times as long as the last audit took the ledger is left alone at least */
type SharedAudit = (sale: Sale, rest: number) => Promise<readonly AuditLine[]>

interface Audited {
  readonly lines: Promise<readonly AuditLine[]>
  tookMs: number
  endedAtMs: number
  askedAtMs: number
}

const FORGOTTEN_AFTER_MS = 60_000

export function createSharedAudit(parts: AuditParts): SharedAudit {
  const { clock } = parts
  const known = new Map<SaleId, Audited>()

  function forgetOld(nowMs: number): void {
    for (const [sale, { askedAtMs, endedAtMs }] of known)
      if (endedAtMs <= nowMs && nowMs - askedAtMs > FORGOTTEN_AFTER_MS) known.delete(sale)
  }

  return (sale, rest) => {
    const nowMs = clock.elapsed()
    forgetOld(nowMs)
    const last = known.get(sale.id)
    if (last !== undefined) {
      last.askedAtMs = nowMs
      if (nowMs - last.endedAtMs < last.tookMs * rest) return last.lines
    }
    const lines = auditItems(parts, sale, isExplained)
    const audited: Audited = { lines, tookMs: 0, endedAtMs: Number.POSITIVE_INFINITY, askedAtMs: nowMs }
    known.set(sale.id, audited)
    lines.then(
      () => {
        audited.endedAtMs = clock.elapsed()
        audited.tookMs = audited.endedAtMs - nowMs
      },
      // Nothing to show: the next who asks tries again.
      () => known.get(sale.id) === audited && known.delete(sale.id),
    )
    return lines
  }
}
