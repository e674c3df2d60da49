/** When a sale is over and quiet, one last reconciliation runs by itself; its report and the results are kept. */

import type { Log } from '../base/log.ts'
import type { Sale } from '../domain/sale.ts'
import type { Reconciling, Report } from '../ledger/reconciling.ts'
import type { Sales } from '../ledger/sales.ts'

const SALES_MAX = 20

export async function settleOverSales(parts: {
  readonly sales: Sales
  readonly reconciling: Reconciling
  readonly reconcile: (sale: Sale) => Promise<Report>
  readonly log: Log
}): Promise<void> {
  for (const id of await parts.reconciling.toSettle(SALES_MAX)) {
    const sale = await parts.sales.find(id)
    if (sale === undefined) continue
    const report = await parts.reconcile(sale)
    const results = await parts.reconciling.results(id)
    await parts.reconciling.save(id, true, report, { results })
    parts.log.info({ sale: id, differences: report.differences.length, results }, 'the sale is over and settled')
  }
}
