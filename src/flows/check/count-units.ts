/** Units of all items on sale, by where they are, added up for the metrics. Costs the ledger one statement per sale. */

import type { SaleId } from '../../domain/ids.ts'
import type { Units } from '../../telemetry/gauges.ts'
import type { AuditContext, CheckContext } from './check-context.ts'

export async function countUnits(
  context: Pick<CheckContext, 'registry' | 'view'> & Pick<AuditContext, 'reconciliation'>,
): Promise<Units> {
  const sum = { available: 0, left: 0, held: 0, pending: 0, paid: 0, releasing: 0, oldestReleaseMs: 0 }
  const sales = new Set<SaleId>()
  for (const { sale } of context.registry.values()) sales.add(sale.id)
  for (const { left, held } of (await context.view.status([...context.registry.keys()])).values()) {
    sum.left += left
    sum.held += held
  }
  for (const sale of sales) {
    for (const line of await context.reconciliation.audit(sale)) {
      sum.available += line.available
      sum.pending += line.pending
      sum.paid += line.paid
      sum.releasing += line.releases
      sum.oldestReleaseMs = Math.max(sum.oldestReleaseMs, line.oldestReleaseMs ?? 0)
    }
  }
  return sum
}
