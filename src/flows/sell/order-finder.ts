/**
 * Reads orders by id and by buyer, many at a time: a crowd that asks again costs the ledger a few statements, not one each. Too many at once is
 * a Fault: that they could not be read does not mean that they are not there.
 */

import { createBatcher } from '../../base/batching/batcher.ts'
import { Fault } from '../../base/fault.ts'
import type { BuyerId, ItemId, OrderId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Orders } from '../../ledger/orders.ts'

export type OrderFinder = ReturnType<typeof createOrderFinder>

interface OrderFinderOptions {
  readonly batchMax: number
  readonly queueMax: number
  readonly defer?: (fn: () => void) => void
  readonly onBatch?: (size: number) => void
}

export function createOrderFinder(
  orders: Pick<Orders, 'find' | 'ofBuyers'>,
  { onBatch, ...options }: OrderFinderOptions,
) {
  const byId = createBatcher<OrderId, Order | undefined>({
    ...options,
    async run(ids) {
      onBatch?.(ids.length)
      const found = new Map((await orders.find(ids)).map(order => [order.id, order]))
      return ids.map(id => found.get(id))
    },
  })
  const ofBuyer = createBatcher<{ readonly item: ItemId; readonly buyer: BuyerId }, readonly Order[]>({
    ...options,
    async run(keys) {
      const found = Map.groupBy(await orders.ofBuyers(keys), nameOf)
      return keys.map(key => found.get(nameOf(key)) ?? [])
    },
  })
  return {
    byId: async (id: OrderId) => byId.join(id) ?? tooMany(),
    /** Every order of this buyer and item, refusals aside: a refused order is no attempt. */
    ofBuyer: async (item: ItemId, buyer: BuyerId) => ofBuyer.join({ item, buyer }) ?? tooMany(),
  }
}

/** Only the second of the two may hold a blank. */
function nameOf({ item, buyer }: { readonly item: ItemId; readonly buyer: BuyerId }): string {
  return `${item} ${buyer}`
}

function tooMany(): never {
  throw new Fault('line_full', 'too many orders wait to be read', { retryable: true })
}
