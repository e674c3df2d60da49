/** What the flows that move money, run sales and check them share. */

import type { OrderId } from '../domain/ids.ts'
import type { CheckContext } from '../flows/check/check-context.ts'
import type { GateView } from '../flows/check/gate-view.ts'
import type { MoneyContext } from '../flows/money/money-context.ts'
import { releaseNow } from '../flows/money/release-units.ts'
import { settleOrder } from '../flows/money/settle-payments.ts'
import type { OperateContext } from '../flows/operate/operate-context.ts'
import type { PaymentProvider } from '../payment/payment.ts'
import type { ProcessContext, Runner } from './process-context.ts'

export interface Flows extends MoneyContext, OperateContext, CheckContext {
  readonly alarm: ProcessContext['alarm']
}

export function composeFlows(
  context: ProcessContext,
  view: GateView,
  syncState: OperateContext['syncState'],
  rebuild: Runner['rebuild'],
  providers: ReadonlyMap<string, PaymentProvider>,
): Flows {
  const ports = { ...context, orders: context.copies.readThrough(context.orders), providers }
  return {
    ...ports,
    view,
    syncState,
    rebuild,
    nowMs: () => context.view.nowMs(),
    changed: () => context.catalog.changed(),
    settleOrder: (order: OrderId) => settleOrder(ports, order),
    releaseNow: (closed: readonly OrderId[]) => releaseNow(ports, closed),
  }
}
