/** Where the units of all items on sale are, added up: for whoever watches the system as a whole. Costs the ledger a statement per sale. */

import type { SaleId } from '../../domain/ids.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'
import type { Units } from '../../telemetry/gauges.ts'
import type { Registry } from '../sell/live-item.ts'
import type { GateView } from './gate-view.ts'

export async function countUnits(parts: {
  readonly registry: Registry
  readonly view: Pick<GateView, 'status'>
  readonly reconciliation: Pick<Reconciliation, 'audit'>
}): Promise<Units> {
  const sum = { available: 0, left: 0, held: 0, pending: 0, paid: 0, releasing: 0, oldestReleaseMs: 0 }
  const sales = new Set<SaleId>()
  for (const { sale } of parts.registry.values()) sales.add(sale.id)
  for (const look of (await parts.view.status([...parts.registry.keys()])).values()) {
    sum.left += look.left
    sum.held += look.held
  }
  for (const sale of sales) {
    for (const line of await parts.reconciliation.audit(sale)) {
      sum.available += line.available
      sum.pending += line.pending
      sum.paid += line.paid
      sum.releasing += line.releases
      sum.oldestReleaseMs = Math.max(sum.oldestReleaseMs, line.oldestReleaseMs ?? 0)
    }
  }
  return sum
}
