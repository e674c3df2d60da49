/**
 * Messages between the processes of a cluster. What happens here reaches this process's listeners at once and goes out on the channel; what
 * comes in on the channel reaches them as if it had happened here. Each state of an order and its payments reaches them once, and no older one
 * after it: the channel brings a process its own messages back. A batch of placed orders is one message on the channel.
 */

import type { Log } from '../../base/log.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { OrderId, SaleId } from '../../domain/ids.ts'
import { newnessOf, type Order } from '../../domain/order.ts'
import type { Channel } from '../../gate/channel.ts'
import type { GateCache } from '../../gate/local-view.ts'
import type { PlacementWaiters } from '../sell/placement-waiters.ts'
import type { AcknowledgedReservations } from './acknowledged-reservations.ts'
import type { Messages } from './messages.ts'

interface ShareContext {
  /** Of this process. */
  readonly messages: Messages
  readonly channel: Channel
  readonly cache: Pick<GateCache, 'reserved' | 'missed'>
  readonly catalog: Pick<Catalog, 'invalidate' | 'find'>
  /** What this process has acknowledged and what its clicks wait for; a worker or a keeper has none. */
  readonly acknowledged: Pick<AcknowledgedReservations, 'settled'>
  readonly waiters: Pick<PlacementWaiters, 'resolve'>
  readonly log: Log
  /** Another process has changed a sale. */
  readonly onSaleChanged: () => void
  /** When the collected orders go out. */
  readonly defer: (fn: () => void) => void
}

const BUNDLE_MAX = 200
/** So many orders' last state is remembered: more than are on the channel at any moment. */
const SEEN_MAX = 50_000

/** Messages for the flows of this process, which go to the other processes too. Listens to the channel from now on. */
export function shareMessages(context: ShareContext): Messages {
  const { messages, channel, catalog } = context
  /** The last state of an order that the listeners got, by `newnessOf`. */
  const seen = new Map<OrderId, number>()
  let bundle: Order[] = []

  /** False: the listeners had this state or a newer one already. */
  function deliver(order: Order): boolean {
    const newness = newnessOf(order)
    const before = seen.get(order.id)
    if (before !== undefined) {
      if (before >= newness) return false
      seen.delete(order.id)
    }
    seen.set(order.id, newness)
    if (seen.size > SEEN_MAX) seen.delete(seen.keys().next().value!)
    messages.orderChanged(order)
    return true
  }

  function publishBundle(): void {
    const orders = bundle
    bundle = []
    for (let i = 0; i < orders.length; i += BUNDLE_MAX)
      channel.publish({ kind: 'orders', orders: orders.slice(i, i + BUNDLE_MAX) })
  }

  /** The sale as it is now. If it can't be read, listeners see the change when they ask. */
  async function deliverSale(id: SaleId): Promise<void> {
    try {
      const sale = await catalog.find(id)
      if (sale) messages.saleChanged(sale)
    } catch (error) {
      // A bug too: showing a sale must not end the process that sells it.
      context.log.warn({ event: 'sale_not_published', sale: id, err: error }, 'sale-changed message not published')
    }
  }

  channel.listen(message => {
    switch (message.kind) {
      case 'reserved':
        context.cache.reserved(message.partition, message, message.buyers)
        break
      case 'orders':
        for (const order of message.orders) {
          context.acknowledged.settled(order.id)
          context.waiters.resolve(order)
          deliver(order)
        }
        break
      case 'sale':
        catalog.invalidate()
        context.onSaleChanged()
        void deliverSale(message.sale)
    }
  })
  channel.onGap(() => {
    context.cache.missed()
    catalog.invalidate()
    messages.missed()
  })

  return {
    ...messages,
    orderChanged(order) {
      if (!deliver(order)) return
      if (bundle.length === 0) context.defer(publishBundle)
      bundle.push(order)
    },
    saleChanged(sale) {
      messages.saleChanged(sale)
      channel.publish({ kind: 'sale', sale: sale.id })
    },
  }
}
