/**
 * From the domain to the bodies of `wire/answers.ts`: ids as strings, times RFC 3339, money in minor units. What is undefined is not
 * written: spreading it in only where it is there would cost more than all the rest.
 */

import { toRfc3339 } from '../base/clock.ts'
import { toHex } from '../domain/draw/draw-bytes.ts'
import type { HoldLimits } from '../domain/hold-limits.ts'
import type { ItemId, SaleId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'
import { type LineRate, type LineTerms, lineState, sealsAtMs } from '../domain/line.ts'
import { times } from '../domain/money.ts'
import type { Order, Reservation } from '../domain/order.ts'
import type { OrderPayment, Payment } from '../domain/payment.ts'
import type { RefundPart } from '../domain/refund-part.ts'
import { type Sale, saleState, ticketsFromMs } from '../domain/sale.ts'
import type { AuditLine } from '../flows/check/audit-sale.ts'
import type { StockView } from '../flows/sell/live-item.ts'
import type { LineDraw } from '../ledger/line-draws.ts'
import type {
  AuditAnswer,
  ItemAnswer,
  OperatorSaleAnswer,
  OrderAnswer,
  PaymentAnswer,
  SaleAnswer,
} from '../wire/answers.ts'
import type { SaleLineAnswer } from '../wire/line/line-shapes.ts'

/** With what is known of waiting lines without asking. */
interface ShownStock extends StockView {
  readonly lineOf?: (sale: SaleId) => ShownLine | undefined
  /** Every unit is in a paid order, as of the last audit here. */
  readonly isAllPaid?: (item: ItemId) => boolean
}

interface ShownLine {
  readonly book: {
    readonly joined: number
    readonly isDrawn: boolean
    readonly rate: LineRate | undefined
    readonly paused: boolean
  }
  readonly draw: LineDraw | undefined
}

export function wireSale(sale: Sale, stock: ShownStock): SaleAnswer {
  const items = sale.items.map(item => wireItem(item, stock))
  const left = items.reduce((sum, item) => sum + item.left, 0)
  return {
    id: sale.id,
    name: sale.name,
    texts: sale.texts,
    opensAt: toRfc3339(sale.opensAtMs),
    closesAt: toRfc3339(sale.closesAtMs),
    state: saleState(sale, stock.nowMs(), left),
    rule: sale.line?.order === 'draw' ? 'draw' : sale.rule,
    warmBeforeSeconds: sale.warmBeforeMs / 1000,
    ticketsBeforeSeconds: (sale.opensAtMs - ticketsFromMs(sale)) / 1000,
    challenge: sale.challenge ?? 'off',
    items,
    line: sale.line && wireLine(sale, sale.line, stock),
    contactFields: sale.contactFields,
    listed: sale.unlisted === true ? false : undefined,
    payment: stock.offersOf?.(sale),
  }
}

function wireLine(sale: Sale, line: LineTerms, stock: ShownStock): SaleLineAnswer {
  const { book: seen, draw } = stock.lineOf?.(sale.id) ?? {}
  return {
    opensAt: toRfc3339(line.opensAtMs),
    order: line.order,
    state: lineState(sale, line, stock.nowMs(), seen?.isDrawn ?? false),
    joined: seen?.joined ?? 0,
    rate: seen?.rate ?? line.rate,
    claimWithinSeconds: line.claimWithinMs / 1000,
    sealsAt: line.order === 'draw' ? toRfc3339(draw?.sealsAtMs ?? sealsAtMs(sale, line)) : undefined,
    paused: seen?.paused === true ? true : undefined,
    claim: line.claim,
    commitment: draw && toHex(draw.commitment),
    root: draw?.sealed && toHex(draw.sealed.root),
    seed: draw?.drawn && toHex(draw.drawn.seed),
    beacon: (draw?.drawn && draw.beacon) ?? draw?.promise ?? line.beacon,
  }
}

/** With what only operators see. */
export function wireOperatorSale(sale: Sale, stock: ShownStock): OperatorSaleAnswer {
  const seen = wireSale(sale, stock)
  const items = sale.items.map(({ whenGateDown, homeDoor }, i) => ({ ...seen.items[i]!, whenGateDown, door: homeDoor }))
  return {
    ...seen,
    items,
    paymentProviders: sale.paymentProviders,
    holds: sale.holds && wireHolds(sale.holds),
    template: sale.template,
  }
}

function wireHolds({ unpaidCountsMs, payAgainMs, ...limits }: HoldLimits): OperatorSaleAnswer['holds'] {
  const inSeconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1000)
  return { ...limits, unpaidCountsSeconds: inSeconds(unpaidCountsMs), payAgainSeconds: inSeconds(payAgainMs) }
}

function wireItem(item: Item, stock: ShownStock): ItemAnswer {
  return {
    id: item.id,
    sku: item.sku,
    name: item.name,
    texts: item.texts,
    image: item.image,
    description: item.description,
    price: item.price,
    listPrice: item.listPrice,
    units: item.units,
    left: stock.leftOf(item.id) ?? item.available,
    mayReturn: stock.isAllPaid?.(item.id) === true ? false : undefined,
    quantityMax: item.quantityMax,
    attemptsMax: item.attemptsMax,
    payWithinSeconds: item.payWithinMs / 1000,
    shards: item.shards > 1 ? item.shards : undefined,
  }
}

export function wireOrder(order: Order | Reservation): OrderAnswer {
  const { id, sale, item, buyer, attempt, quantity, state } = order
  const amount = times(order.price, quantity)
  const reservedAt = toRfc3339(order.reservedAtMs)
  if (order.state === 'reserved') return { id, sale, item, buyer, attempt, quantity, amount, state, reservedAt }
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
    payment: order.payment && wireOrderPayment(order.payment),
  }
}

function wireOrderPayment({ provider, method, state, qr }: OrderPayment): NonNullable<OrderAnswer['payment']> {
  return { provider, method, state, qr }
}

function timeOf(unixMs: number | undefined): string | undefined {
  return unixMs === undefined ? undefined : toRfc3339(unixMs)
}

export function wirePayment(payment: Payment, parts: readonly RefundPart[]): PaymentAnswer {
  const { id, provider, ref, amount, state, why, method, handle, ended } = payment
  const startedAt = toRfc3339(payment.startedAtMs)
  const capturedAt = timeOf(payment.capturedAtMs)
  const refunds = parts.filter(part => part.payment === id).map(wireRefund)
  return {
    id,
    provider,
    ref,
    amount,
    state,
    why,
    method,
    handle,
    ended,
    declinedAt: timeOf(payment.declinedAtMs),
    startedAt,
    capturedAt,
    refundedAt: timeOf(payment.refundedAtMs),
    ...(refunds.length > 0 && { refunds }),
  }
}

function wireRefund({ id, amount, state, reason, by, askedAtMs, refundedAtMs }: RefundPart) {
  return { id, amount, state, reason, by, askedAt: toRfc3339(askedAtMs), refundedAt: timeOf(refundedAtMs) }
}

export function wireAudit({
  gateAgrees,
  addsUp,
  changing,
  miscounted,
  ordersPlaced,
  ordersRefused,
  ordersPaid,
  ...line
}: AuditLine): AuditAnswer {
  return { ...line, gate: line.gate ?? null }
}
