/**
 * What the flows call when something has happened. Each of these counts it, publishes it, or both; none of them changes anything, waits or
 * fails.
 */

import type { Log } from '../base/log.ts'
import type { Counted, Meters } from '../base/meters.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Violation } from '../domain/promises/snapshot.ts'
import type { Messages } from '../flows/follow/messages.ts'
import type { OrderFinder } from '../flows/sell/order-finder.ts'

interface WatchingParts {
  readonly meters: Meters
  readonly messages: Messages
  readonly finder: Pick<OrderFinder, 'byId'>
  readonly log: Log
}

type Fields = Readonly<Record<string, unknown>>

export type Watching = ReturnType<typeof createWatching>

export function createWatching({ meters, messages, finder, log }: WatchingParts) {
  /** Only its id is known, so it is read first. A listener that misses the message reads the order later. */
  function publishOrder(id: OrderId): void {
    void finder.byId(id).then(
      order => order && messages.orderChanged(order),
      (error: unknown) => log.warn({ order: id, err: error }, 'order-changed message not published'),
    )
  }

  return {
    alarm(what: Counted['alarms'][number], fields: Fields): void {
      meters.count('alarms', what)
      log.error({ alarm: what, ...fields }, 'alarm: this should never happen')
    },
    paid(order: OrderId): void {
      meters.count('orders', 'paid')
      publishOrder(order)
    },
    closed(orders: readonly Order[]): void {
      for (const order of orders) {
        if (order.reason !== undefined) meters.count('orders', order.reason)
        messages.orderChanged(order)
      }
    },
    refunded(order: OrderId): void {
      meters.count('orders', 'refunded')
      publishOrder(order)
    },
    refundDue: () => meters.count('refunds', 'due'),
    refundSent: () => meters.count('refunds', 'sent'),
    released: (count: number) => meters.count('releases', 'done', count),
    forged(provider: string): void {
      meters.count('payment_callbacks_forged', 'forged')
      log.warn({ provider }, 'callback refused: wrong signature')
    },
    differences(differences: number, repairs: number): void {
      meters.count('reconciliation', 'difference', differences)
      meters.count('reconciliation', 'repair', repairs)
    },
    broken: (promise: Violation['promise']) => meters.count('promises_broken', `${promise}`),
  }
}
