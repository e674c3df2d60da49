/**
 * What the flows call when something has happened. Each of these counts it, publishes it, wakes the round that goes on with it, or all three;
 * none of them changes anything, waits or fails.
 */

import type { Log } from '../base/log.ts'
import type { Counted, Meters } from '../base/meters.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Violation } from '../domain/promises/snapshot.ts'
import type { Messages } from '../flows/follow/messages.ts'
import type { OrderFinder } from '../flows/sell/order-finder.ts'
import type { Rounds } from './rounds.ts'

type Fields = Readonly<Record<string, unknown>>

export type Watching = ReturnType<typeof createWatching>

export function createWatching(
  { meters, log, rounds }: { readonly meters: Meters; readonly log: Log; readonly rounds: Rounds },
  messages: Messages,
  finder: Pick<OrderFinder, 'byId'>,
) {
  /** Only its id is known, so it is read first. A listener that misses the message reads the order later. */
  function publishOrder(id: OrderId): void {
    void finder
      .byId(id)
      .then(order => order && messages.orderChanged(order))
      .catch((error: unknown) => log.warn({ order: id, err: error }, 'order-changed message not published'))
  }

  return {
    alarm(what: Counted['alarms'][number], fields: Fields): void {
      meters.count('alarms', what)
      log.error({ alarm: what, ...fields }, 'alarm: this should never happen')
    },
    onPaid(order: OrderId): void {
      meters.count('orders', 'paid')
      publishOrder(order)
    },
    onClosed(orders: readonly Order[]): void {
      rounds.kick('release')
      for (const order of orders) {
        if (order.reason !== undefined) meters.count('orders', order.reason)
        messages.orderChanged(order)
      }
    },
    onOrderRefunded(order: OrderId): void {
      rounds.kick('release')
      meters.count('orders', 'refunded')
      publishOrder(order)
    },
    onRefundDue(): void {
      meters.count('refunds', 'due')
      rounds.kick('payments')
    },
    onRefundSent: () => meters.count('refunds', 'sent'),
    onReleased: (count: number) => meters.count('releases', 'done', count),
    onForged(provider: string): void {
      meters.count('payment_callbacks_forged', 'forged')
      log.warn({ provider }, 'callback refused: wrong signature')
    },
    onDifferences(differences: number, repairs: number): void {
      meters.count('reconciliation', 'difference', differences)
      meters.count('reconciliation', 'repair', repairs)
    },
    onBroken: (promise: Violation['promise']) => meters.count('promises_broken', `${promise}`),
  }
}
