/** From the domain to the bodies of `wire/answers.ts`: ids as strings, times RFC 3339, money in minor units. */

import { toRfc3339 } from '../base/clock.ts'
import type { Item } from '../domain/item.ts'
import { times } from '../domain/money.ts'
import type { Order, Reservation } from '../domain/order.ts'
import type { Payment } from '../domain/payment.ts'
import { type Sale, saleState } from '../domain/sale.ts'
import type { AuditLine } from '../flows/check/audit-sale.ts'
import type {
  AuditAnswer,
  ItemAnswer,
  OperatorSaleAnswer,
  OrderAnswer,
  PaymentAnswer,
  SaleAnswer,
} from '../wire/answers.ts'

/** What the gate has left of an item; undefined where it does not have it. */
export type LeftOf = (item: string) => number | undefined

export function wireSale(sale: Sale, nowMs: number, leftOf: LeftOf): SaleAnswer {
  const items = sale.items.map(item => wireItem(item, leftOf))
  const left = items.reduce((sum, item) => sum + item.left, 0)
  return {
    id: sale.id,
    name: sale.name,
    opensAt: toRfc3339(sale.opensAtMs),
    closesAt: toRfc3339(sale.closesAtMs),
    state: saleState(sale, nowMs, left),
    rule: sale.rule,
    warmBeforeSeconds: sale.warmBeforeMs / 1000,
    items,
  }
}

/** With what only operators see. */
export function wireOperatorSale(sale: Sale, nowMs: number, leftOf: LeftOf): OperatorSaleAnswer {
  const seen = wireSale(sale, nowMs, leftOf)
  const items = sale.items.map(({ whenGateDown, homeDoor }, i) => ({ ...seen.items[i]!, whenGateDown, door: homeDoor }))
  return { ...seen, items }
}

function wireItem(item: Item, leftOf: LeftOf): ItemAnswer {
  return {
    id: item.id,
    ...(item.sku !== undefined && { sku: item.sku }),
    name: item.name,
    ...(item.image !== undefined && { image: item.image }),
    price: item.price,
    ...(item.listPrice !== undefined && { listPrice: item.listPrice }),
    units: item.units,
    left: leftOf(item.id) ?? item.available,
    quantityMax: item.quantityMax,
    attemptsMax: item.attemptsMax,
    payWithinSeconds: item.payWithinMs / 1000,
    ...(item.shards > 1 && { shards: item.shards }),
  }
}

export function wireOrder(order: Order | Reservation): OrderAnswer {
  const { id, sale, item, buyer, attempt, quantity, state } = order
  const amount = times(order.price, quantity)
  const reservedAt = toRfc3339(order.reservedAtMs)
  if (order.state === 'reserved') return { id, sale, item, buyer, attempt, quantity, amount, state, reservedAt }
  // What is undefined is not written; spreading it in only where it is there costs more than all the rest.
  return {
    id,
    sale,
    item,
    buyer,
    attempt,
    quantity,
    amount,
    state,
    reason: order.reason,
    supersededBy: order.supersededBy,
    reservedAt,
    placedAt: toRfc3339(order.placedAtMs),
    payBy: timeOf(order.payByMs),
    paidAt: timeOf(order.paidAtMs),
    closedAt: timeOf(order.closedAtMs),
  }
}

function timeOf(unixMs: number | undefined): string | undefined {
  return unixMs === undefined ? undefined : toRfc3339(unixMs)
}

export function wirePayment(payment: Payment): PaymentAnswer {
  return {
    id: payment.id,
    provider: payment.provider,
    ref: payment.ref,
    amount: payment.amount,
    state: payment.state,
    ...(payment.why !== undefined && { why: payment.why }),
    startedAt: toRfc3339(payment.startedAtMs),
    ...(payment.capturedAtMs !== undefined && { capturedAt: toRfc3339(payment.capturedAtMs) }),
    ...(payment.refundedAtMs !== undefined && { refundedAt: toRfc3339(payment.refundedAtMs) }),
  }
}

export function wireAudit({ gateAgrees, addsUp, changing, ...line }: AuditLine): AuditAnswer {
  return { ...line, gate: line.gate ?? null }
}
