/**
 * When a sale is over and quiet, one last reconciliation runs by itself; its report and the results are kept. Quiet in the ledger is not
 * enough where reservations may wait outside it: what is still on its way is waited for.
 */

import { Fault } from '../base/fault.ts'
import type { Log } from '../base/log.ts'
import type { Sale } from '../domain/sale.ts'
import type { Outbox } from '../gate/outbox.ts'
import type { Reconciling, Report } from '../ledger/reconciling.ts'
import type { Sales } from '../ledger/sales.ts'

const SALES_MAX = 20

export async function settleOverSales(parts: {
  readonly sales: Sales
  readonly reconciling: Reconciling
  readonly reconcile: (sale: Sale) => Promise<Report>
  /** Is every reservation of the sale in the ledger? False also while nobody can tell. */
  readonly allPlaced: (sale: Sale) => Promise<boolean>
  readonly log: Log
}): Promise<void> {
  for (const id of await parts.reconciling.toSettle(SALES_MAX)) {
    const sale = await parts.sales.find(id)
    if (sale === undefined || !(await parts.allPlaced(sale))) continue
    const report = await parts.reconcile(sale)
    const results = await parts.reconciling.results(id)
    await parts.reconciling.save(id, true, report, { results })
    parts.log.info({ sale: id, differences: report.differences.length, results }, 'the sale is over and settled')
  }
}

/** With an outbox: it is empty. Of what never was behind a gate nothing can be in one, so no gate is asked. */
export function placedFar(outbox: Pick<Outbox, 'depth'>): (sale: Sale) => Promise<boolean> {
  return async sale => {
    const items = sale.items.filter(item => item.gateEpoch > 0).map(item => item.id)
    if (items.length === 0) return true
    try {
      const depths = await outbox.depth(items)
      return depths.every(depth => depth.entries === 0)
    } catch (error) {
      if (error instanceof Fault) return false
      throw error
    }
  }
}
