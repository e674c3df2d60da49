/**
 * Whoever watches: the metrics, the news, and what the flows call when something has happened. Each of these counts it, tells it, or
 * both; none of them changes anything, waits or fails.
 */

import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Counted, Meters } from '../base/meters.ts'
import type { OrderId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Violation } from '../domain/promises/violation.ts'
import { countUnits } from '../flows/check/count-units.ts'
import type { GateView } from '../flows/check/gate-view.ts'
import { createMessages, type Messages } from '../flows/follow/messages.ts'
import type { LiveItem, Registry } from '../flows/sell/live-item.ts'
import type { Reconciliation } from '../ledger/reconciliation.ts'
import { type OutboxBacklog, watchEventLoop } from '../telemetry/gauges.ts'
import { createMetrics, METRICS_CONTENT_TYPE } from '../telemetry/metrics.ts'

interface WatchingParts {
  readonly registry: Registry
  readonly view: GateView
  readonly reconciliation: Pick<Reconciliation, 'audit'>
  readonly pool: () => { readonly total: number; readonly idle: number; readonly waiting: number }
  readonly sockets: () => number
  readonly ready: () => boolean
  /** Undefined: too many wait to be read. */
  readonly findOrder: (id: OrderId) => Promise<Order | undefined> | undefined
  /** In a cluster: what waits to be placed. */
  readonly outbox?: (() => Promise<OutboxBacklog>) | undefined
  /** In a cluster the others hear the news too. */
  readonly share?: ((messages: Messages, meters: Meters) => Messages) | undefined
  readonly clock: Clock
  readonly log: Log
}

type Fields = Readonly<Record<string, unknown>>

export function createWatching(parts: WatchingParts, signal: AbortSignal) {
  const { registry, clock, log } = parts
  const { meters, list, render } = createMetrics(
    {
      units: () => countUnits(parts),
      itemsOnSale: () => registry.size,
      queueDepth: () => sumOver(liveItem => liveItem.line.depth()),
      unsettled: () => sumOver(liveItem => liveItem.unsettled.size),
      pool: parts.pool,
      sockets: parts.sockets,
      ready: parts.ready,
      ...(parts.outbox !== undefined && { outbox: parts.outbox }),
    },
    clock,
  )

  const own = createMessages()
  const messages = parts.share?.(own, meters) ?? own

  function sumOver(figure: (liveItem: LiveItem) => number): number {
    let sum = 0
    for (const liveItem of registry.values()) sum += figure(liveItem)
    return sum
  }

  /** Only its id is known, so it is read first. Whoever misses it sees it when it comes back. */
  function tellOrder(id: OrderId): void {
    void parts.findOrder(id)?.then(
      order => order && messages.orderChanged(order),
      (error: unknown) => log.warn({ order: id, err: error }, 'a change of an order was not told'),
    )
  }

  return {
    meters,
    messages,
    /** Every metric, to be read one by one. */
    metrics: list,
    scrape: { contentType: METRICS_CONTENT_TYPE, render },
    /** Resolves when the signal has stopped it. */
    stopped: watchEventLoop(clock, meters, signal),

    alarm(what: Counted['alarms'][number], fields: Fields): void {
      meters.count('alarms', what)
      log.error({ alarm: what, ...fields }, 'alarm: this should never happen')
    },
    paid(order: OrderId): void {
      meters.count('orders', 'paid')
      tellOrder(order)
    },
    closed(orders: readonly Order[]): void {
      for (const order of orders) {
        if (order.reason !== undefined) meters.count('orders', order.reason)
        messages.orderChanged(order)
      }
    },
    refunded(order: OrderId): void {
      meters.count('orders', 'refunded')
      tellOrder(order)
    },
    refundDue: () => meters.count('refunds', 'due'),
    refundSent: () => meters.count('refunds', 'sent'),
    released: (count: number) => meters.count('releases', 'done', count),
    forged(provider: string): void {
      meters.count('callbacks_forged', 'forged')
      log.warn({ provider }, 'a callback with a wrong signature was refused')
    },
    differences(differences: number, repairs: number): void {
      meters.count('reconciliation', 'difference', differences)
      meters.count('reconciliation', 'repair', repairs)
    },
    broken: (promise: Violation['promise']) => meters.count('promises_broken', `${promise}`),
  }
}
