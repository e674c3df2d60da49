/**
 * Events as the shop gets them, by feed, webhook or Kafka: CloudEvents 1.0 in JSON. The id is the event's number, `source` the installation;
 * both together name an event for good. Attributes and types are added over time, never renamed.
 */

import { toRfc3339 } from '../../base/clock.ts'
import { times } from '../../domain/money.ts'
import type { Order } from '../../domain/order.ts'
import type { EventType, PaymentEvent, SaleOpenedEvent, SaleOverEvent, ShopEvent } from '../../domain/shop-event.ts'

export const CLOUD_TYPE_PREFIX = 'stampede.'

export interface CloudEvent {
  readonly specversion: '1.0'
  readonly id: string
  readonly source: string
  readonly type: `stampede.${EventType}`
  /** The id of the order, payment, item or sale. */
  readonly subject: string
  readonly time: string
  readonly datacontenttype: 'application/json'
  readonly data: Readonly<Record<string, unknown>>
}

export function toCloudEvent(event: ShopEvent, source: string): CloudEvent {
  const { number, type, atMs } = event
  const { subject, data } = contentOf(event)
  return {
    specversion: '1.0',
    id: String(number),
    source,
    type: `${CLOUD_TYPE_PREFIX}${type}`,
    subject,
    time: toRfc3339(atMs),
    datacontenttype: 'application/json',
    data,
  }
}

/** What orders events, given the subject on the wire: a payment's event keeps its place among those of the order. */
export function orderingKey(event: ShopEvent, subject: string): string {
  return event.type === 'payment.refund_due' ? event.payment.order : subject
}

function contentOf(event: ShopEvent): Pick<CloudEvent, 'subject' | 'data'> {
  switch (event.type) {
    case 'order.placed':
    case 'order.paid':
    case 'order.closed':
    case 'order.refunded':
    case 'order.closing_soon':
      return { subject: event.order.id, data: orderData(event.order, event.sku) }
    case 'payment.refund_due':
      return { subject: event.payment.id, data: paymentData(event) }
    case 'item.sold_out':
    case 'item.back': {
      const { sale, item, sku } = event
      return { subject: item, data: { id: item, sale, ...(sku !== undefined && { sku }) } }
    }
    case 'sale.opened':
      return { subject: event.sale, data: saleData(event) }
    case 'sale.over':
      return { subject: event.sale, data: { ...saleData(event), results: event.results } }
  }
}

function orderData(order: Order, sku: string | undefined): CloudEvent['data'] {
  const { id, sale, item, buyer, attempt, quantity, state, reason, supersededBy } = order
  return {
    id,
    sale,
    item,
    ...(sku !== undefined && { sku }),
    buyer,
    attempt,
    quantity,
    amount: times(order.price, quantity),
    state,
    ...(reason !== undefined && { reason }),
    ...(supersededBy !== undefined && { supersededBy }),
    reservedAt: toRfc3339(order.reservedAtMs),
    placedAt: toRfc3339(order.placedAtMs),
    ...timeOf('payBy', order.payByMs),
    ...timeOf('paidAt', order.paidAtMs),
    ...timeOf('closedAt', order.closedAtMs),
  }
}

function paymentData({ sale, payment }: PaymentEvent): CloudEvent['data'] {
  const { id, order, item, provider, ref, amount, why, part } = payment
  return {
    id,
    order,
    sale,
    item,
    provider,
    ref,
    amount,
    state: 'refund_due',
    ...(why !== undefined && { why }),
    ...(part !== undefined && { part }),
  }
}

function saleData({ sale, name, opensAtMs, closesAtMs }: SaleOpenedEvent | SaleOverEvent): CloudEvent['data'] {
  return { id: sale, name, opensAt: toRfc3339(opensAtMs), closesAt: toRfc3339(closesAtMs) }
}

function timeOf(name: string, unixMs: number | undefined): Readonly<Record<string, string>> {
  return unixMs === undefined ? {} : { [name]: toRfc3339(unixMs) }
}
