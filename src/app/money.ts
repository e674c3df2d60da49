/** The contexts of the flows that move money, run sales and check them. */

import type { CheckContext } from '../flows/check/check-context.ts'
import type { GateView } from '../flows/check/gate-view.ts'
import type { MoneyContext, MoneyPorts } from '../flows/money/money-context.ts'
import { releaseNow } from '../flows/money/release-units.ts'
import { settleOrder } from '../flows/money/settle-payments.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import type { GateSide, ProcessParts, Selling } from './selling.ts'
import type { Runner } from './start.ts'

export function createMoney(
  { clock, log, ledger, node, rounds, watching }: ProcessParts,
  { gate }: GateSide,
  providers: ReadonlyMap<string, PaymentProvider>,
): MoneyContext {
  const ports: MoneyPorts = {
    orders: ledger.orders,
    payments: ledger.payments,
    closings: ledger.closings,
    providers,
    gate,
    ids: node.ids,
    clock,
    log,
    onPaid: watching.paid,
    onClosed(closed) {
      rounds.kick('release')
      watching.closed(closed)
    },
    onReleased: watching.released,
    onRefundDue() {
      watching.refundDue()
      rounds.kick('payments')
    },
    onRefundSent: watching.refundSent,
    onOrderRefunded(order) {
      rounds.kick('release')
      watching.refunded(order)
    },
    alarm: watching.alarm,
  }
  return {
    ...ports,
    settleOrder: order => settleOrder(ports, order),
    releaseNow: closed => releaseNow(ports, closed),
  }
}

export function createOperate(parts: ProcessParts, side: GateSide, selling: Selling): OperateContext {
  return {
    sales: side.sales,
    stock: parts.ledger.stock,
    gate: side.gate,
    ids: parts.node.ids,
    clock: parts.clock,
    nowMs: () => side.view.nowMs(),
    syncState: selling.syncState,
    unplaced: side.unplaced,
    changed: () => parts.catalog.changed(),
    messages: parts.messages,
  }
}

export function createCheck(
  { registry, ledger, watching }: ProcessParts,
  { books, sales }: GateSide,
  money: MoneyContext,
  view: GateView,
  rebuild: Runner['rebuild'],
): CheckContext {
  return {
    ...money,
    sales,
    reconciliation: ledger.reconciliation,
    view,
    books,
    registry,
    rebuild,
    onDifferences: watching.differences,
    onBroken: watching.broken,
    alarm: watching.alarm,
  }
}
