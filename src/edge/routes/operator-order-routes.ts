/** Operators and orders: lists, one order with its payments and history, cancel, refund, and the log of who did what. */

import { toRfc3339 } from '../../base/clock.ts'
import { Fault } from '../../base/fault.ts'
import { retry } from '../../base/retry.ts'
import { createZoneTimes } from '../../base/zone-times.ts'
import type { Epoch, OrderId } from '../../domain/ids.ts'
import { type Money, toDecimal } from '../../domain/money.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import { REFUND_PARTS_MAX } from '../../domain/refund-part.ts'
import type { Sale } from '../../domain/sale.ts'
import { cancelOrder } from '../../flows/money/close-orders.ts'
import { type RefundRefusal, refundOrder } from '../../flows/money/refund-orders.ts'
import { createOrderPages } from '../../flows/operate/export-orders.ts'
import { listOrders } from '../../flows/operate/list-orders.ts'
import { orderStory, type StoryStep } from '../../flows/tell/order-story.ts'
import type { LogLine } from '../../ledger/journal.ts'
import type { OrderQuery } from '../../ledger/orders.ts'
import type { LogLineAnswer, WholeOrderAnswer } from '../../wire/answers.ts'
import { operatorCalls } from '../../wire/calls/operator-calls.ts'
import type { OrderStoryAnswer } from '../../wire/order-story.ts'
import type { FoundOrdersAnswer } from '../../wire/orders/found-orders.ts'
import { wireOrder, wirePayment } from '../answers.ts'
import { type EdgeContext, type Handlers, routesOf } from '../edge-context.ts'
import { csvOfOrders, prefersCsv, streamCsv } from '../http/csv.ts'
import { type Exchange, idParam, json, readBody, readPage, readQuery } from '../http/exchange.ts'
import { createOrderSheet } from '../http/order-sheet.ts'
import { answerBy, noSuch, ProblemError } from '../http/problem-response.ts'
import { findSale, keyedSubject } from './operator-sale-routes.ts'
import { wireWith } from './parcel-routes.ts'

const PAGE_MAX = 1000
/** A page of an export that found the ledger busy waits for its turn again: to break off would cost all pages before it once more. */
const EXPORT_RETRY = { tries: 4, baseMs: 1_000, maxMs: 2_000 }
const EVERY_EPOCH = Number.MAX_SAFE_INTEGER

const isRetryable = (error: unknown) => error instanceof Fault && error.retryable
const isAfter = (one: OrderId, other: OrderId) => BigInt(one) > BigInt(other)

const handlers = {
  async orders(edge, exchange) {
    const sale = await findSale(edge, exchange)
    const { state, buyer, after, limit, layout, zone, language } = readQuery(exchange, operatorCalls.orders.query)
    const query = { sale: sale.id, ...(buyer !== undefined && { buyer }), ...(after && { after }) }
    const read = async (limit: number, after: OrderId | undefined): Promise<readonly (Order | Reservation)[]> => {
      const page = { ...query, limit, ...(after !== undefined && { after }) }
      if (state === 'reserved') return reservedOf(edge, sale, page)
      return edge.money.orders.list({ ...page, ...(state !== undefined && { state }) })
    }
    if (prefersCsv(exchange.request.headers.get('accept') ?? '')) {
      const pages = exportOf(edge, sale, { ...query, ...(state !== undefined && { state }) }, read)
      return layout === 'raw' ? csvOfOrders(pages, sale.id) : sheetOf(edge, sale, pages, { zone, language })
    }
    const { shown, next } = await readPage(limit, max => read(max, query.after))
    return json({ orders: shown.map(wireOrder), next })
  },

  async findOrders(edge, exchange) {
    const { updatedAfter: updatedAfterMs, after, ...wish } = readQuery(exchange, operatorCalls.findOrders.query)
    const { q, sale, state, limit } = wish
    return answerBy(
      await listOrders(edge.listing, { updatedAfterMs, q, sale, state, limit, after: after || undefined }),
      {
        async page({ orders, next, total }) {
          const parcels = await edge.parcels.of(orders.map(({ id }) => id))
          return json({
            orders: orders.map(order => ({
              ...wireWith(order, parcels.get(order.id)),
              ...(order.updatedAtMs !== undefined && { updatedAt: toRfc3339(order.updatedAtMs) }),
            })),
            next: next ?? null,
            total: total.count,
            totalIsExact: !total.more,
          } satisfies FoundOrdersAnswer)
        },
        expired: ({ oldestMs }) =>
          new ProblemError(
            'cursor_expired',
            'Changes so old are no longer kept. List the orders without updatedAfter.',
            {
              oldest: oldestMs === undefined ? undefined : toRfc3339(oldestMs),
            },
          ),
        no_events: () =>
          new ProblemError('cursor_expired', 'Changes are not written here (EVENTS=off). List without updatedAfter.'),
      },
    )
  },

  order: async (edge, exchange) => json(await wireWhole(edge, await find(edge, idParam(exchange, 'id')))),

  async orderStory(edge, exchange) {
    const order = await find(edge, idParam(exchange, 'id'))
    const ids = [order.id]
    const sale = await edge.operate.sales.find(order.sale)
    const item = sale?.items.find(({ id }) => id === order.item)
    const payments = await edge.money.payments.ofOrders(ids)
    const parts = await edge.money.refunds.ofOrders(ids)
    const log = await edge.journal.read({ after: '0', order: order.id, limit: PAGE_MAX })
    const trace = (await edge.orderTraces.find(ids)).get(order.id)?.split('-')[1]
    const story = orderStory({ order, item, payments, parts, log })
    return json({ ...wireStory(order, item?.epoch, story), ...(trace !== undefined && { trace }) })
  },

  async cancelOrder(edge, exchange, by) {
    const before = await findPlaced(edge, exchange)
    const { id: order, sale, item } = before
    return answerBy(await cancelOrder(edge.money, order, () => true), {
      async closed(outcome) {
        if (before.state === 'pending') await edge.journal.write({ by, action: 'order.cancel', sale, item, order })
        return json(await wireWhole(edge, outcome.order))
      },
      paid: () => new ProblemError('order_paid', 'The order is paid. Refund it instead.'),
      missing: () => noSuch('order'),
    })
  },

  async refundOrder(edge, exchange, by) {
    const order = await findPlaced(edge, exchange)
    const wish = await readBody(exchange.request, operatorCalls.refundOrder.body.schema)
    const id = await keyedSubject(edge, 'refunds', exchange.request, { order: order.id, ...wish })
    const { restock, amount, reason } = wish
    const { outcome, refundable } = await refundOrder(edge.money, order, { id, restock, amount, reason, by })
    if (outcome !== 'done') throw refundRefused(outcome, refundable)
    return json(await wireWhole(edge, await find(edge, order.id)))
  },

  async log({ journal }, exchange) {
    const { after, limit } = readQuery(exchange, operatorCalls.log.query)
    const { shown, next } = await readPage(limit, max => journal.read({ after: after || '0', limit: max }))
    return json({ log: shown.map(wireLine), next })
  },
} satisfies Handlers<typeof operatorCalls>

export const operatorOrderRoutes = (edge: EdgeContext) => routesOf(edge, operatorCalls, handlers)

/** Of one buyer, and of reservations, there are few: they are listed like anything else. */
function exportOf(
  edge: EdgeContext,
  sale: Sale,
  { state, buyer, after }: Omit<OrderQuery, 'limit' | 'state'> & { readonly state?: OrderQuery['state'] | 'reserved' },
  read: (limit: number, after: OrderId | undefined) => Promise<readonly (Order | Reservation)[]>,
): () => Promise<readonly (Order | Reservation)[]> {
  const retried = <T>(work: () => Promise<T>) => retry(edge.clock, edge.random, EXPORT_RETRY, work, isRetryable)
  if (state !== 'reserved' && buyer === undefined) {
    const items = sale.items.map(({ id }) => id)
    const query = { ...(state !== undefined && { state }), ...(after !== undefined && { after }) }
    return createOrderPages((item, page) => retried(() => edge.money.orders.ofItem(item, page)), items, query)
  }
  let behind = after
  return async () => {
    const page = await retried(() => read(PAGE_MAX, behind))
    behind = page.at(-1)?.id ?? behind
    return page
  }
}

/** For a spreadsheet. What buyers said about the parcel is read with each page, where the sale asks for it. */
function sheetOf(
  edge: EdgeContext,
  sale: Sale,
  pages: () => Promise<readonly (Order | Reservation)[]>,
  { zone, language }: { readonly zone: string; readonly language: 'en' | 'zh' },
): Response {
  const sheet = createOrderSheet({ sale, zone, timeOf: createZoneTimes(zone), language })
  return streamCsv(`orders-${sale.id}.csv`, sheet.head, async () => {
    const page = await pages()
    const read = () => edge.parcels.of(page.map(({ id }) => id))
    const parcels =
      sheet.asksForContact && page.length > 0
        ? await retry(edge.clock, edge.random, EXPORT_RETRY, read, isRetryable)
        : undefined
    return page.map(order => sheet.lineOf(order, parcels?.get(order.id)))
  })
}

/** The reservations that this edge has acknowledged, in the order in which the ledger lists. */
function reservedOf(edge: EdgeContext, sale: Sale, { buyer, after, limit }: OrderQuery): readonly Reservation[] {
  return sale.items
    .flatMap(item => edge.find.acknowledged.olderThan(item.id, EVERY_EPOCH))
    .flatMap(({ reservations }) => reservations)
    .filter(one => (buyer === undefined || one.buyer === buyer) && (after === undefined || isAfter(one.id, after)))
    .sort((one, other) => (isAfter(one.id, other.id) ? 1 : -1))
    .slice(0, limit)
}

/** Of reservations that are not placed, each edge knows only those that it has acknowledged. */
async function find(edge: EdgeContext, id: OrderId): Promise<Order | Reservation> {
  // Read before the ledger: a reservation that is placed meanwhile is in the ledger then.
  const acknowledged = edge.find.acknowledged.find(id)
  const [order] = await edge.money.orders.find([id])
  const found = order ?? acknowledged?.reservation
  if (found === undefined) throw noSuch('order')
  return found
}

async function findPlaced(edge: EdgeContext, exchange: Exchange): Promise<Order> {
  const found = await find(edge, idParam(exchange, 'id'))
  if (found.state === 'reserved')
    throw new ProblemError('not_placed', 'The order is reserved and not placed yet. Ask again in a moment.')
  return found
}

function refundRefused(outcome: RefundRefusal, refundable: Money | undefined): ProblemError {
  if (outcome === 'not_paid') return new ProblemError('order_not_paid')
  const left = refundable === undefined ? 'nothing' : `${toDecimal(refundable)} ${refundable.currency}`
  const [field, detail] = {
    too_much: ['amount.amount', `At most ${left} can still be refunded.`],
    other_currency: ['amount.currency', `The order was paid in ${refundable?.currency}.`],
    too_many: ['amount', `The payment was refunded in ${REFUND_PARTS_MAX} parts. Refund all that is left: ${left}.`],
    restock: ['restock', `Units come back only with all of the order: ${left} can still be refunded.`],
  }[outcome] as [string, string]
  return new ProblemError('refund_invalid', detail, { field, refundable })
}

async function wireWhole(
  { money, journal, parcels }: EdgeContext,
  order: Order | Reservation,
): Promise<WholeOrderAnswer> {
  const payments = await money.payments.ofOrders([order.id])
  const parts = await money.refunds.ofOrders([order.id])
  const lines = await journal.read({ after: '0', order: order.id, limit: PAGE_MAX })
  const parcel = (await parcels.of([order.id])).get(order.id)
  return {
    ...wireWith(order, parcel),
    payments: payments.map(payment => wirePayment(payment, parts)),
    history: historyOf(order, lines),
  }
}

function wireStory(
  order: Order | Reservation,
  itemEpoch: Epoch | undefined,
  steps: readonly StoryStep[],
): OrderStoryAnswer {
  const epoch = order.state === 'reserved' ? undefined : order.epoch
  const story = steps.map(({ atMs, ...step }) => ({ at: toRfc3339(atMs), ...step }))
  return { order: wireOrder(order), epoch, itemEpoch, story }
}

function wireLine({ id, atMs, by, action, sale, item, order, details }: LogLine): LogLineAnswer {
  return { id, at: toRfc3339(atMs), by, action, sale, item, order, details }
}

/** Of a refund, its line says how much went back and why. */
function refundOf(details: unknown): Pick<WholeOrderAnswer['history'][number], 'amount' | 'reason'> {
  const { amount, currency, reason } = (details ?? {}) as Record<string, unknown>
  return {
    ...(typeof amount === 'number' && typeof currency === 'string' && { amount: { amount, currency } }),
    ...(typeof reason === 'string' && { reason }),
  }
}

/** What happened to an order, oldest first: its own times, and what operators did. */
function historyOf(order: Order | Reservation, lines: readonly LogLine[]): WholeOrderAnswer['history'] {
  const own = [{ atMs: order.reservedAtMs, what: 'reserved' }]
  if (order.state !== 'reserved') {
    const refused = order.reason === 'refused'
    own.push({ atMs: order.placedAtMs, what: refused ? 'refused' : 'placed' })
    if (order.paidAtMs !== undefined) own.push({ atMs: order.paidAtMs, what: 'paid' })
    if (order.closedAtMs !== undefined && !refused) own.push({ atMs: order.closedAtMs, what: `closed/${order.reason}` })
  }
  const byOperators = lines.map(({ atMs, action, by, details }) => ({ atMs, what: action, by, ...refundOf(details) }))
  return [...own, ...byOperators]
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ atMs, ...event }) => ({ at: toRfc3339(atMs), ...event }))
}
