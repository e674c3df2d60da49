/**
 * An operator cancels chosen orders that are not paid, each as `cancelOrder` does: a provider is asked first, and payment and closing race through
 * one compare-and-set. What becomes of one does not depend on the others; a fault is the answer for that order alone. Asking again is harmless.
 *
 * Their units are released by the release loop, in random steps: released at once, they would go to the program that polls fastest.
 */

import { eachOf } from '../../base/each-of.ts'
import { onFault } from '../../base/fault.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Journal } from '../../ledger/journal.ts'
import { cancelOrder } from '../money/close-orders.ts'

type CancelContext = Parameters<typeof cancelOrder>[0] & { readonly journal: Pick<Journal, 'write'> }

type CancelledHold = 'cancelled' | 'closed' | 'paid' | 'missing' | 'busy'

/** Each may hold a connection to the ledger while it waits for its item's lock. */
const AT_ONCE_MAX = 4

export async function cancelHolds(
  context: CancelContext,
  ids: readonly OrderId[],
  by: string,
  reason: string | undefined,
): Promise<ReadonlyMap<OrderId, CancelledHold>> {
  const gradually = { ...context, releaseNow: async () => {} }
  const before = new Map((await context.orders.find(ids)).map(order => [order.id, order]))
  const outcomes = new Map<OrderId, CancelledHold>()

  async function cancel(id: OrderId): Promise<CancelledHold> {
    const order = before.get(id)
    if (order === undefined) return 'missing'
    if (order.state !== 'pending') return order.state === 'paid' ? 'paid' : 'closed'
    const outcome = await cancelOrder(gradually, id, () => true)
    if (outcome.kind !== 'closed') return outcome.kind
    // Its time to pay was over first.
    if (outcome.order.reason !== 'cancelled') return 'closed'
    const details = reason === undefined ? {} : { details: { reason } }
    await context.journal.write({
      by,
      action: 'order.cancel',
      sale: order.sale,
      item: order.item,
      order: id,
      ...details,
    })
    return 'cancelled'
  }

  await eachOf(ids, AT_ONCE_MAX, async id => {
    outcomes.set(
      id,
      await onFault(
        () => cancel(id),
        () => 'busy' as const,
      ),
    )
  })
  return outcomes
}
