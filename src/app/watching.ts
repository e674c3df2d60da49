/**
 * What the flows call when something has happened. Each of these counts it, publishes it, wakes the round that goes on with it, or all three;
 * none of them changes anything, waits or fails.
 */

import type { Clock } from '../base/clock.ts'
import type { Flight } from '../base/flight.ts'
import type { Log } from '../base/log.ts'
import type { Counted, Meters } from '../base/meters.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Violation } from '../domain/promises/snapshot.ts'
import type { Messages } from '../flows/follow/messages.ts'
import type { OrderCopies } from '../flows/sell/order-copies.ts'
import type { OrderFinder } from '../flows/sell/order-finder.ts'
import type { FlightDumps } from '../telemetry/flight-dumps.ts'
import type { Rounds } from './rounds.ts'

type Fields = Readonly<Record<string, unknown>>

interface WatchingParts {
  readonly meters: Meters
  readonly log: Log
  readonly rounds: Rounds
  readonly flight: Flight
  readonly dumps: Pick<FlightDumps, 'dumpByItself'>
  readonly clock: Clock
}

/** Forged callbacks cost their sender nothing: one log line in so long tells of all of them, the metric counts each. */
const FORGED_LINE_EVERY_MS = 10_000

export type Watching = ReturnType<typeof createWatching>

export function createWatching(
  { meters, log, rounds, flight, dumps, clock }: WatchingParts,
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
      flight.note(`alarm ${what}`, String(fields.item ?? ''), String(fields.order ?? ''))
      log.error({ event: 'alarm', alarm: what, ...fields }, 'alarm: this should never happen')
      dumps.dumpByItself('alarm')
    },
    onPaid(order: OrderId): void {
      meters.count('orders', 'paid')
      flight.note('paid', '', order)
      publishOrder(order)
    },
    onPaymentChanged: publishOrder,
    onClosed(orders: readonly Order[]): void {
      rounds.kick('release')
      for (const order of orders) {
        if (order.reason !== undefined) meters.count('orders', order.reason)
        flight.note(`closed/${order.reason}`, order.item, order.id)
        messages.orderChanged(order)
      }
    },
    onOrderRefunded(order: OrderId): void {
      rounds.kick('release')
      meters.count('orders', 'refunded')
      flight.note('closed/refunded', '', order)
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
    onBroken(promise: Violation['promise']): void {
      meters.count('promises_broken', `${promise}`)
      flight.note(`promise ${promise} broken`, '', '')
      dumps.dumpByItself('promise')
    },
  }
}
