/** An operator takes a paid order back: the order is closed, its money becomes due, its units go on sale again if asked for. */

import { faultPoint } from '../../base/fault-points.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Closings } from '../../ledger/closings.ts'

export interface RefundParts {
  readonly closings: Closings
  readonly onRefundDue: () => void
  /** The attempt must be closed in the gate, and the units may have to go back there: at once if it can be, else by the next round. */
  readonly releaseAtOnce: (orders: readonly OrderId[]) => Promise<void>
  readonly onReleaseDue: () => void
  readonly onChanged: (order: OrderId) => void
}

export async function refundOrder(
  parts: RefundParts,
  order: Order,
  restock: boolean,
  by: string,
): Promise<'refunded' | 'not_paid'> {
  await faultPoint('refund.before')
  const outcome = await parts.closings.refund(order.id, order.item, restock, by)
  if (outcome === 'not_paid' || outcome === 'unknown') return 'not_paid'
  if (outcome === 'refunded') {
    parts.onRefundDue()
    await parts.releaseAtOnce([order.id])
    parts.onReleaseDue()
    parts.onChanged(order.id)
  }
  return 'refunded'
}
