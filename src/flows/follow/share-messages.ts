/**
 * Messages between the processes of a cluster. What happens here is told here at once and said on the channel; what others say is told here
 * as if it had happened here. A version of an order is told once, and no older one after it: what this process said comes back to it.
 * Said in bundles: a batch of placed orders is one message.
 */

import { Fault } from '../../base/fault.ts'
import type { Log } from '../../base/log.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { OrderId, SaleId } from '../../domain/ids.ts'
import type { Order } from '../../domain/order.ts'
import type { Channel } from '../../gate/channel.ts'
import type { GateCache } from '../../gate/gate-cache.ts'
import type { PlacementWaiters } from '../sell/placement-waiters.ts'
import type { AcknowledgedReservations } from './acknowledged-reservations.ts'
import type { Messages } from './messages.ts'

interface ShareMessagesParts {
  /** Of this process. */
  readonly messages: Messages
  readonly channel: Channel
  readonly cache: Pick<GateCache, 'reserved' | 'missed'>
  readonly catalog: Pick<Catalog, 'invalidate' | 'find'>
  /** What this process has acknowledged and its clicks wait for; a worker or a keeper has none. */
  readonly acknowledged: Pick<AcknowledgedReservations, 'settled'>
  readonly waiters: Pick<PlacementWaiters, 'tell'>
  readonly log: Log
  /** Another process has changed a sale. */
  readonly onSaleChanged: () => void
  /** When what was collected is said. */
  readonly defer: (fn: () => void) => void
}

const BUNDLE_MAX = 200
/** Of so many orders it is known which version was told last: more than come back within any message's way. */
const TOLD_MAX = 50_000

/** Messages for the flows of this process, which the others hear too. Listens from now on. */
export function shareMessages(parts: ShareMessagesParts): Messages {
  const { messages, channel, catalog } = parts
  const told = new Map<OrderId, number>()
  let bundle: Order[] = []

  /** False: this version or a newer one was told already. */
  function tell(order: Order): boolean {
    if ((told.get(order.id) ?? -1) >= order.version) return false
    told.delete(order.id)
    told.set(order.id, order.version)
    if (told.size > TOLD_MAX) told.delete(told.keys().next().value!)
    messages.orderChanged(order)
    return true
  }

  function sayBundle(): void {
    const orders = bundle
    bundle = []
    for (let i = 0; i < orders.length; i += BUNDLE_MAX)
      channel.say({ kind: 'orders', orders: orders.slice(i, i + BUNDLE_MAX) })
  }

  /** The sale as it is now; whoever can't read it hears of it when it asks. */
  async function tellSale(id: SaleId): Promise<void> {
    try {
      const sale = await catalog.find(id)
      if (sale !== undefined) messages.saleChanged(sale)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      parts.log.warn({ sale: id, code: error.code, err: error }, 'a change of a sale was not told')
    }
  }

  channel.listen(message => {
    switch (message.kind) {
      case 'reserved':
        parts.cache.reserved(message.partition, message, message.buyers)
        break
      case 'orders':
        for (const order of message.orders) {
          parts.acknowledged.settled(order.id)
          parts.waiters.tell(order)
          tell(order)
        }
        break
      case 'sale':
        catalog.invalidate()
        parts.onSaleChanged()
        void tellSale(message.sale)
    }
  })
  channel.onGap(() => {
    parts.cache.missed()
    catalog.invalidate()
    messages.missed()
  })

  return {
    ...messages,
    orderChanged(order) {
      if (!tell(order)) return
      if (bundle.length === 0) parts.defer(sayBundle)
      bundle.push(order)
    },
    saleChanged(sale) {
      messages.saleChanged(sale)
      channel.say({ kind: 'sale', sale: sale.id })
    },
  }
}
