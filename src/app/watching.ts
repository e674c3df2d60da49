/**
 * What the flows call when something has happened. Each of these counts it, publishes it, wakes the round that goes on with it, or all three;
 * none of them changes anything, waits or fails.
 */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Counted, Meters } from '../base/meters.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Violation } from '../domain/promises/snapshot.ts'
import type { Messages } from '../flows/follow/messages.ts'
import type { OrderCopies } from '../flows/sell/order-copies.ts'
import type { OrderFinder } from '../flows/sell/order-finder.ts'
import type { Rounds } from './rounds.ts'

type Fields = Readonly<Record<string, unknown>>

interface WatchingParts {
  readonly meters: Meters
  readonly log: Log
  readonly rounds: Rounds
  readonly clock: Clock
}

/** Forged callbacks cost their sender nothing: one log line in so long tells of all of them, the metric counts each. */
const FORGED_LINE_EVERY_MS = 10_000

export type Watching = ReturnType<typeof createWatching>

export function createWatching(
  { meters, log, rounds, clock }: WatchingParts,
  messages: Messages,
  finder: Pick<OrderFinder, 'byId'>,
  copies: Pick<OrderCopies, 'forget'>,
) {
  let forged = 0
  let forgedLineAtMs = Number.NEGATIVE_INFINITY

  /**
   * Only its id is known, so it is read first. A listener that misses the message reads the order later. The copy is dropped at once: the
   * answer to the change may be on its way before the order is read.
   */
  function publishOrder(id: OrderId): void {
    copies.forget(id)
    void finder
      .byId(id)
      .then(order => order && messages.orderChanged(order))
      .catch((error: unknown) =>
        log.warn({ event: 'order_not_published', order: id, err: error }, 'order-changed message not published'),
      )
  }

  return {
    alarm(what: Counted['alarms'][number], fields: Fields): void {
      meters.count('alarms', what)
      log.error({ event: 'alarm', alarm: what, ...fields }, 'alarm: this should never happen')
    },
    onPaid(order: OrderId): void {
      meters.count('orders', 'paid')
      publishOrder(order)
    },
    onPaymentChanged: publishOrder,
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
      rounds.kick('refund-parts')
    },
    onRefundSent: () => meters.count('refunds', 'sent'),
    onReleased: (count: number) => meters.count('releases', 'done', count),
    onForged(provider: string): void {
      meters.count('payment_callbacks_forged', 'forged')
      forged += 1
      if (clock.elapsed() - forgedLineAtMs < FORGED_LINE_EVERY_MS) return
      log.warn({ event: 'callback_forged', provider, forged }, 'callback refused: wrong signature')
      forged = 0
      forgedLineAtMs = clock.elapsed()
    },
    onDifferences(differences: number, repairs: number): void {
      meters.count('reconciliation', 'difference', differences)
      meters.count('reconciliation', 'repair', repairs)
    },
    onBroken: (promise: Violation['promise']) => meters.count('promises_broken', `${promise}`),
  }
}
