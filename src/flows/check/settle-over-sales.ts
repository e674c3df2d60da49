/**
 * When a sale is over and quiet, one last reconciliation runs by itself; its report and the results are kept. Quiet in the ledger is not
 * enough where reservations may wait outside it: what is still on its way is waited for, and if that takes long somebody is called.
 * Over is what the ledger's clock says; where that was wrong, and has been set right, the report was not the last one.
 */

import type { Clock } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Gate } from '../../gate/gate.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Reconciliation, Report } from '../../ledger/reconciliation.ts'
import type { Sales } from '../../ledger/sales.ts'

export interface SettleOverSalesParts {
  readonly sales: Sales
  readonly reconciliation: Reconciliation
  readonly reconcile: (sale: Sale) => Promise<Report>
  /** Is every reservation of the sale in the ledger? False also while nobody can tell. */
  readonly allPlaced: (sale: Sale) => Promise<boolean>
  readonly alarm: (what: 'sale_not_settled', fields: Readonly<Record<string, unknown>>) => void
  readonly clock: Clock
  readonly log: Log
}

const SALES_MAX = 20
/** Longer than a restart of the gate takes, with its rebuild. Somebody who was told `202` may be waiting. */
const LATE_MS = 300_000
/** Longer than sales are followed after their end (`followed_sales.sql`). */
const FOLLOWED_MS = 3_660_000

export function createSaleSettler(parts: SettleOverSalesParts): { round(): Promise<void> } {
  const { sales, reconciliation, clock, log } = parts
  /** Since when a sale has been waited for, and whether that was told. */
  const waiting = new Map<SaleId, { readonly sinceMs: number; told: boolean }>()

  async function settle(sale: Sale): Promise<void> {
    const report = await parts.reconcile(sale)
    const results = await reconciliation.results(sale.id)
    await reconciliation.save(sale.id, true, report, { results })
    log.info({ sale: sale.id, differences: report.differences.length, results }, 'the sale is over and settled')
  }

  function wait(sale: SaleId): void {
    const since = waiting.get(sale) ?? { sinceMs: clock.elapsed(), told: false }
    waiting.set(sale, since)
    const waitedMs = Math.round(clock.elapsed() - since.sinceMs)
    if (since.told || waitedMs < LATE_MS) return
    since.told = true
    parts.alarm('sale_not_settled', { sale, waitedMs })
  }

  return {
    async round() {
      for (const sale of await reconciliation.reopen())
        log.warn({ sale }, 'the sale has a final report and is not over: there will be another at its end')
      const over = await reconciliation.toSettle(SALES_MAX)
      for (const id of waiting.keys()) if (!over.includes(id)) waiting.delete(id)
      for (const id of over) {
        const sale = await sales.find(id)
        if (sale === undefined) continue
        if (await parts.allPlaced(sale)) await settle(sale)
        else wait(id)
      }
    },
  }
}

/**
 * With an outbox: every gate that has an item knows that it is over, and then its outbox is empty. The ledger knows of an end before the
 * gate does, and until then there may be another reservation. Of what never was behind a gate nothing can be in one, so no gate is asked.
 */
export function placedFar(gate: Pick<Gate, 'status'>, outbox: Pick<Outbox, 'depth'>): (sale: Sale) => Promise<boolean> {
  async function atAnEnd(sale: Sale): Promise<boolean> {
    const sold = sale.items.filter(({ gateEpoch, door }) => gateEpoch > 0 && (door === 'gate' || door === 'draining'))
    if (sold.length === 0) return true
    const { items, nowMs, behindMs = 0 } = await gate.status(sold.map(({ id }) => id))
    // Nobody follows it any more, so nobody sells it, whatever its gate was told last.
    if (nowMs - behindMs - sale.closesAtMs > FOLLOWED_MS) return true
    const looks = new Map(items.map(look => [look.item, look]))
    return sold.every(({ id, epoch, door }) => {
      const look = looks.get(id)
      // Being rebuilt, or shut: whoever does that is waited for.
      if (door === 'draining') return false
      if (look === undefined || look.epoch !== epoch || look.uneven === true) return false
      return look.state === 'over' || nowMs - behindMs >= look.closesAtMs
    })
  }

  return async sale => {
    const items = sale.items.filter(item => item.gateEpoch > 0).map(item => item.id)
    if (items.length === 0) return true
    try {
      if (!(await atAnEnd(sale))) return false
      const depths = await outbox.depth(items)
      return depths.every(depth => depth.entries === 0)
    } catch (error) {
      if (error instanceof Fault) return false
      throw error
    }
  }
}
