/** Operators and orders: lists, one order with its payments and history, cancel, refund, and the log of who did what. */

import { toRfc3339 } from '../../base/clock.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Sale } from '../../domain/sale.ts'
import type { AcknowledgedReservations } from '../../flows/follow/acknowledged-reservations.ts'
import { cancelOrder } from '../../flows/money/close-orders.ts'
import type { MoneyContext } from '../../flows/money/money-context.ts'
import { refundOrder } from '../../flows/money/refund-order.ts'
import type { Journal, LogLine } from '../../ledger/journal.ts'
import type { OrderQuery } from '../../ledger/orders.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { LogLineAnswer, WholeOrderAnswer } from '../../wire/answers.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import { wireOrder, wirePayment } from '../answers.ts'
import { csvOfOrders, prefersCsv } from '../http/csv.ts'
import { type Exchange, idParam, json, type Route, readBody, readQuery } from '../http/exchange.ts'
import { pageOf, toRead } from '../http/paging.ts'
import { noSuch, ProblemError } from '../http/problem-response.ts'
import { type Identity, routesForOperators } from '../identity.ts'

interface OperatorOrderParts {
  readonly sales: Sales
  readonly journal: Journal
  readonly identity: Identity
  readonly money: MoneyContext
  /** Reservations that this edge has acknowledged and not yet seen in the ledger. */
  readonly acknowledged: Pick<AcknowledgedReservations, 'find' | 'olderThan'>
}

const PAGE_MAX = 1000
const EVERY_EPOCH = Number.MAX_SAFE_INTEGER

const isAfter = (one: OrderId, other: OrderId) => BigInt(one) > BigInt(other)

export function operatorOrderRoutes(parts: OperatorOrderParts): readonly Route[] {
  const route = routesForOperators(parts.identity)
  return [
    route(operatorCalls.orders, list),
    route(operatorCalls.order, show),
    route(operatorCalls.cancelOrder, cancel),
    route(operatorCalls.refundOrder, refund),
    route(operatorCalls.log, log),
  ]

  async function list(exchange: Exchange): Promise<Response> {
    const sale = await parts.sales.find(idParam(exchange, 'sale'))
    if (sale === undefined) throw noSuch('sale')
    const { state, buyer, after, limit } = readQuery(exchange, operatorCalls.orders.query)
    const query = { sale: sale.id, ...(buyer !== undefined && { buyer }), ...(after && { after }) }
    const read = async (limit: number, after = query.after): Promise<readonly (Order | Reservation)[]> => {
      const page = { ...query, limit, ...(after !== undefined && { after }) }
      if (state === 'reserved') return reservedOf(sale, page)
      return parts.money.orders.list({ ...page, ...(state !== undefined && { state }) })
    }
    if (prefersCsv(exchange.request.headers.get('accept') ?? ''))
      return csvOfOrders(after => read(PAGE_MAX, after), sale.id)
    const { shown, next } = pageOf(await read(toRead(limit)), limit)
    return json({ orders: shown.map(wireOrder), next })
  }

  /** The reservations that this edge has acknowledged, in the order in which the ledger lists. */
  function reservedOf(sale: Sale, { buyer, after, limit }: OrderQuery): readonly Reservation[] {
    return sale.items
      .flatMap(item => parts.acknowledged.olderThan(item.id, EVERY_EPOCH))
      .flatMap(({ reservations }) => reservations)
      .filter(one => (buyer === undefined || one.buyer === buyer) && (after === undefined || isAfter(one.id, after)))
      .sort((one, other) => (isAfter(one.id, other.id) ? 1 : -1))
      .slice(0, limit)
  }

  async function show(exchange: Exchange): Promise<Response> {
    return json(await wireWhole(await find(idParam(exchange, 'id'))))
  }

  /** Of reservations that are not placed, each edge knows only those that it has acknowledged. */
  async function find(id: string): Promise<Order | Reservation> {
    // Read before the ledger: a reservation that is placed meanwhile is in the ledger then.
    const acknowledged = parts.acknowledged.find(id)
    const [order] = await parts.money.orders.find([id])
    const found = order ?? acknowledged?.reservation
    if (found === undefined) throw noSuch('order')
    return found
  }

  async function findPlaced(id: string): Promise<Order> {
    const found = await find(id)
    if (found.state === 'reserved')
      throw new ProblemError('not_placed', 'The order is reserved and not placed yet. Ask again in a moment.')
    return found
  }

  async function wireWhole(order: Order | Reservation): Promise<WholeOrderAnswer> {
    const payments = await parts.money.payments.ofOrders([order.id])
    const lines = await parts.journal.read({ after: '0', order: order.id, limit: PAGE_MAX })
    return { ...wireOrder(order), payments: payments.map(wirePayment), history: historyOf(order, lines) }
  }

  async function cancel(exchange: Exchange, by: string): Promise<Response> {
    const before = await findPlaced(idParam(exchange, 'id'))
    const outcome = await cancelOrder(parts.money, before.id, () => true)
    if (outcome.kind === 'missing') throw noSuch('order')
    if (outcome.kind === 'paid') throw new ProblemError('order_paid', 'The order is paid. Refund it instead.')
    const { id: order, sale, item } = before
    if (before.state === 'pending') await parts.journal.write({ by, action: 'order.cancel', sale, item, order })
    return json(await wireWhole(outcome.order))
  }

  async function refund(exchange: Exchange, by: string): Promise<Response> {
    const order = await findPlaced(idParam(exchange, 'id'))
    const { restock } = await readBody(exchange.request, operatorCalls.refundOrder.body.schema)
    const outcome = await refundOrder(parts.money, order, restock, by)
    if (outcome === 'not_paid') throw new ProblemError('order_not_paid')
    return json(await wireWhole(await find(order.id)))
  }

  async function log(exchange: Exchange): Promise<Response> {
    const { after, limit } = readQuery(exchange, operatorCalls.log.query)
    const { shown, next } = pageOf(await parts.journal.read({ after: after || '0', limit: toRead(limit) }), limit)
    return json({ log: shown.map(wireLine), next })
  }
}

function wireLine(line: LogLine): LogLineAnswer {
  return {
    id: line.id,
    at: toRfc3339(line.atMs),
    by: line.by,
    action: line.action,
    ...(line.sale !== undefined && { sale: line.sale }),
    ...(line.item !== undefined && { item: line.item }),
    ...(line.order !== undefined && { order: line.order }),
    details: line.details,
  }
}

/** What happened to an order, oldest first: its own times, and what operators did. */
function historyOf(order: Order | Reservation, lines: readonly LogLine[]): WholeOrderAnswer['history'] {
  const own = [
    { atMs: order.reservedAtMs, what: 'reserved' },
    ...(order.state === 'reserved' ? [] : sincePlaced(order)),
  ]
  const byOperators = lines.map(line => ({ atMs: line.atMs, what: line.action, by: line.by }))
  return [...own, ...byOperators]
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, ...event }) => ({ at: toRfc3339(atMs), ...event }))
}

function sincePlaced(order: Order): readonly { readonly atMs: number; readonly what: string }[] {
  return [
    { atMs: order.placedAtMs, what: order.reason === 'refused' ? 'refused' : 'placed' },
    ...(order.paidAtMs === undefined ? [] : [{ atMs: order.paidAtMs, what: 'paid' }]),
    ...(order.closedAtMs === undefined || order.reason === 'refused'
      ? []
      : [{ atMs: order.closedAtMs, what: `closed/${order.reason}` }]),
  ]
}
