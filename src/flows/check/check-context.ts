/** What the checking flows share, composed once in `app/compose-flows.ts`. A flow takes only the members it uses. */

import type { Alarm } from '../../base/log.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Violation } from '../../domain/promises/snapshot.ts'
import type { GateBooks } from '../../gate/gate.ts'
import type { OutboxBooks } from '../../gate/outbox.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { MoneyPorts } from '../money/money-context.ts'
import type { Registry } from '../sell/live-item.ts'
import type { GateView } from './gate-view.ts'

export interface CheckContext
  extends Pick<MoneyPorts, 'orders' | 'payments' | 'gate' | 'clock' | 'log' | 'onPaid' | 'onRefundDue'> {
  readonly sales: Sales
  readonly reconciliation: Reconciliation
  readonly view: GateView
  readonly books: GateBooks
  readonly outbox: OutboxBooks
  readonly registry: Registry
  /** Takes the item off sale and rebuilds its gate from the ledger. `rebuilding`: the rebuild has begun and ends later. */
  readonly rebuild: (item: ItemId) => Promise<'rebuilt' | 'rebuilding'>
  readonly onDifferences: (differences: number, repairs: number) => void
  readonly onBroken: (promise: Violation['promise']) => void
  readonly alarm: Alarm<'sale_not_settled'>
}

export interface AuditContext extends Pick<CheckContext, 'view' | 'clock'> {
  readonly reconciliation: Pick<Reconciliation, 'audit'>
}
