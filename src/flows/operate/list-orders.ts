/**
 * Orders over all sales, for operators and for the shop's own programs. Newest first; or, with `updatedAfter`, those that changed since, oldest
 * change first (decision 0036). Changes are read from the events, which are written in the transaction of the change: placing pays for no further index. An
 * order that changes again while pages are read comes again.
 *
 * Every page reads a bounded number of rows. A page of a rare state, sale or buyer may be short, or empty, and still have a `next`.
 */

import { type BuyerId, isBuyerId, isId, type OrderId, type SaleId } from '../../domain/ids.ts'
import type { Order, OrderState } from '../../domain/order.ts'
import type { ShopEvent } from '../../domain/shop-event.ts'
import type { EventLog } from '../../ledger/events.ts'
import type { BoundedCount, Orders } from '../../ledger/orders.ts'
import type { Parcels } from '../../ledger/parcels.ts'

export interface ListOrdersContext {
  readonly orders: Pick<Orders, 'find' | 'ofBuyer' | 'newest' | 'count'>
  readonly parcels: Pick<Parcels, 'byContact'>
  readonly eventLog: Pick<EventLog, 'at' | 'read' | 'countChanged'>
  /** `written`: false where no events are written at all. `keptMs`: undefined: for good. */
  readonly events: { readonly written: boolean; readonly keptMs: number | undefined }
}

interface OrdersWish {
  readonly updatedAfterMs: number | undefined
  /** An order's id, a buyer, or what a contact has: e-mail address, phone number, name. With `updatedAfterMs` not of a contact. */
  readonly q: string | undefined
  readonly sale: SaleId | undefined
  readonly state: OrderState | undefined
  /** The `next` of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

/** `updatedAtMs`: the change for which it is listed. */
type ListedOrder = Order & { readonly updatedAtMs?: number }

interface OrdersPage {
  readonly kind: 'page'
  readonly orders: readonly ListedOrder[]
  readonly next: string | undefined
  readonly total: BoundedCount
}

type Listed =
  | OrdersPage
  /** Changes so old are not kept. */
  | { readonly kind: 'expired'; readonly oldestMs: number | undefined }
  | { readonly kind: 'no_events' }

/** Exact up to here. */
const TOTAL_MAX = 10_000
const PAGES_MAX = 10
const PAGE_READS = 1_000
/** Far longer than a transaction lasts: within it events may be numbered in another order than that of their times. */
const DISORDER_MS = 60_000

export function listOrders(context: ListOrdersContext, wish: OrdersWish): Promise<Listed> {
  const { updatedAfterMs, q } = wish
  if (updatedAfterMs !== undefined) return changedSince(context, wish, updatedAfterMs)
  return q === undefined ? newest(context, wish) : search(context, wish, q)
}

async function newest({ orders }: ListOrdersContext, wish: OrdersWish): Promise<OrdersPage> {
  const { sale, state, limit, after: before } = wish
  const page = await orders.newest({ sale, state, before, limit })
  return { kind: 'page', ...page, total: await orders.count({ sale, state }, TOTAL_MAX) }
}

/** The order with this id, the orders of this buyer (a shop may name its buyers by numbers), and those with this in their contact. */
async function search(context: ListOrdersContext, wish: OrdersWish, q: string): Promise<OrdersPage> {
  const { orders, parcels } = context
  const found = new Map<OrderId, Order>()
  const add = (some: readonly Order[]) => {
    for (const order of some) found.set(order.id, order)
  }
  if (isId(q)) add(await orders.find([q]))
  const ofBuyer = (before: OrderId | undefined) => orders.ofBuyer(q as BuyerId, before, PAGE_READS)
  const buyersMore = isBuyerId(q) && (await readAll(ofBuyer, order => order.id, add))
  const byContact = (before: OrderId | undefined) => parcels.byContact(q, before, PAGE_READS)
  const contactsMore = await readAll(
    byContact,
    id => id,
    async ids => add(await orders.find(ids)),
  )
  const more = buyersMore || contactsMore
  const { q: _, ...rest } = wish
  const fitting = [...found.values()]
    .filter(order => fits(order, { ...rest, q: undefined }))
    .sort((one, other) => (isOlder(one.id, other.id) ? 1 : -1))
  const { after, limit } = wish
  const behind = after === undefined ? fitting : fitting.filter(({ id }) => isOlder(id, after))
  const shown = behind.slice(0, limit)
  const next = behind.length > limit ? shown.at(-1)?.id : undefined
  return { kind: 'page', orders: shown, next, total: { count: Math.min(fitting.length, TOTAL_MAX), more } }
}

/** Page by page, up to the total's bound. True: there is more. */
async function readAll<Row>(
  read: (before: OrderId | undefined) => Promise<readonly Row[]>,
  idOf: (row: Row) => OrderId,
  take: (rows: readonly Row[]) => void | Promise<void>,
): Promise<boolean> {
  let before: OrderId | undefined
  for (let seen = 0; seen <= TOTAL_MAX; seen += PAGE_READS) {
    const page = await read(before)
    await take(page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE_READS) return false
    before = idOf(last)
  }
  return true
}

async function changedSince(context: ListOrdersContext, wish: OrdersWish, sinceMs: number): Promise<Listed> {
  const { eventLog, events } = context
  if (!events.written) return { kind: 'no_events' }
  const found = await eventLog.at(sinceMs - DISORDER_MS)
  // Only what is older than it is to be kept has been deleted.
  const keptFromMs = Math.min(found.oldestAtMs ?? found.nowMs, found.nowMs - (events.keptMs ?? 0))
  if (found.swept && sinceMs < keptFromMs) return { kind: 'expired', oldestMs: keptFromMs }
  const { sale, state, q } = wish
  const who = q === undefined ? undefined : { buyer: q, order: isId(q) ? q : undefined }
  // An order's id is no event's number: it lies behind them all.
  const from = wish.after === undefined ? found.number : Math.min(Number(wish.after), Number.MAX_SAFE_INTEGER)
  const page = await readChanges(context, wish, sinceMs, from)
  if (page === undefined) return { kind: 'expired', oldestMs: found.oldestAtMs }
  return { ...page, total: await eventLog.countChanged(found.number, TOTAL_MAX, sinceMs, { sale, state, who }) }
}

async function readChanges(
  { eventLog, orders }: ListOrdersContext,
  wish: OrdersWish,
  sinceMs: number,
  from: number,
): Promise<Omit<OrdersPage, 'total'> | undefined> {
  const listed = new Map<OrderId, ListedOrder>()
  let next = from
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const { events, last, newest, expired } = await eventLog.read(next, PAGE_READS)
    if (expired || next > newest) return undefined
    const changes = events.flatMap(event => changeOf(event, sinceMs) ?? [])
    const now = new Map((await orders.find([...new Set(changes.map(one => one.order))])).map(one => [one.id, one]))
    for (const { order: id, atMs, number } of changes) {
      const order = now.get(id)
      if (order === undefined || !fits(order, wish)) continue
      if (!listed.has(id) && listed.size === wish.limit)
        return { kind: 'page', orders: inOrder(listed), next: String(next) }
      // The newest change counts: deleted first, so that it is listed behind the others.
      listed.delete(id)
      listed.set(id, { ...order, updatedAtMs: atMs })
      next = number
    }
    next = last
    if (next === newest) return { kind: 'page', orders: inOrder(listed), next: undefined }
  }
  return { kind: 'page', orders: inOrder(listed), next: String(next) }
}

const inOrder = (listed: ReadonlyMap<OrderId, ListedOrder>) => [...listed.values()]

/** Undefined: it tells of no change of an order, or of one from before. */
function changeOf(event: ShopEvent, sinceMs: number) {
  const { type, number, atMs } = event
  if (atMs < sinceMs || type === 'order.closing_soon') return undefined
  if ('payment' in event) return { order: event.payment.order, number, atMs }
  return 'order' in event ? { order: event.order.id, number, atMs } : undefined
}

function fits(order: Order, { sale, state, q }: OrdersWish): boolean {
  if (sale !== undefined && order.sale !== sale) return false
  if (state !== undefined && order.state !== state) return false
  return q === undefined || order.id === q || order.buyer === q
}

const isOlder = (one: OrderId, other: OrderId) => BigInt(one) < BigInt(other)
