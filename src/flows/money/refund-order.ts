/** An operator refunds a paid order: the order is closed, a refund becomes due, and its units go on sale again if the operator asks for it. */

import { faultPoint } from '../../base/fault-points.ts'
import type { Order } from '../../domain/order.ts'
import type { MoneyContext } from './money-context.ts'

export async function refundOrder(
  context: Pick<MoneyContext, 'closings' | 'releaseNow' | 'onRefundDue' | 'onOrderRefunded'>,
  order: Order,
  restock: boolean,
  by: string,
): Promise<'refunded' | 'not_paid'> {
  await faultPoint('refund.before')
  const outcome = await context.closings.refund(order.id, order.item, restock, by)
  if (outcome === 'not_paid' || outcome === 'unknown') return 'not_paid'
  if (outcome === 'refunded') {
    context.onRefundDue()
    // Even without restock the gate must learn that the attempt is closed.
    await context.releaseNow([order.id])
    context.onOrderRefunded(order.id)
  }
  return 'refunded'
}
