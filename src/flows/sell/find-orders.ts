/**
 * A buyer's own orders, readable at once from any edge: what is in the ledger, and beside it what is reserved at a gate and on its way there.
 * The ledger is read after the gates and wins, so no older state is shown than was told before: what a gate calls held may have been
 * placed, paid or closed since. A buyer who is shown a reservation was told of it, so it is acknowledged like any other (E2, E6), also when
 * this process remembers it: the click that it was remembered for may have been answered "busy".
 * Where a gate can't answer there may be an order that can't be seen; unless its id can't be one of that item, or every reservation of the
 * item is in the ledger.
 */

import { madeAtMs } from '../../base/snowflake.ts'
import type { BuyerId, ItemId, OrderId } from '../../domain/ids.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Orders } from '../../ledger/orders.ts'
import type { LiveItem, Registry } from './live-item.ts'
import type { SellContext } from './sell-context.ts'
import { toReservation } from './seller.ts'

export interface FindOrdersContext extends Pick<SellContext, 'acknowledged' | 'unplaced' | 'clock'> {
  readonly orders: Pick<Orders, 'find' | 'ofBuyer'>
  readonly registry: Registry
}

type FindOrderOutcome =
  | { readonly kind: 'found'; readonly order: Order | Reservation }
  /** busy: it may be held by a gate that does not answer. */
  | { readonly kind: 'missing' | 'busy' }

/** Shown only after the seller that it was read from has acknowledged it. */
interface Found {
  readonly reservation: Reservation
  readonly live: LiveItem | undefined
}

const ITEMS_AT_ONCE_MAX = 32
/** No clock of ours is off by so much. */
const CLOCKS_APART_MS_MAX = 86_400_000

/** One order, if it is this buyer's: another's is not there, for all this buyer can tell. */
export async function findOrder(context: FindOrdersContext, id: OrderId, buyer: BuyerId): Promise<FindOrderOutcome> {
  const first = await inLedger()
  if (first !== undefined) return first
  const told = context.acknowledged.find(id)?.reservation
  const { found, whole } =
    told === undefined ? await reservationsOf(context, buyer, id) : { found: [remembered(context, told)], whole: true }
  const mine = found.find(({ reservation }) => reservation.id === id && reservation.buyer === buyer)
  // Of a sale that is not followed any more it may still wait in an outbox.
  const isOrphan = (item: ItemId) => !context.registry.has(item) && mayBeOf(item, id, context.clock.now())
  const elsewhere = mine === undefined && (!whole || (await context.unplaced.orphaned(isOrphan)))
  // What was on its way when it was first looked for may have arrived.
  const since = await inLedger()
  if (since !== undefined) return since
  if (mine === undefined) return { kind: elsewhere ? 'busy' : 'missing' }
  return isShowable(mine) ? { kind: 'found', order: mine.reservation } : { kind: 'busy' }

  async function inLedger(): Promise<FindOrderOutcome | undefined> {
    const [order] = await context.orders.find([id])
    if (order === undefined) return undefined
    return order.buyer === buyer ? { kind: 'found', order } : { kind: 'missing' }
  }
}

/** May this order be reserved at a gate, and on its way to the ledger? For a caller who does not know its buyer. Unknown counts as yes. */
export async function mayBeReserved(context: FindOrdersContext, id: OrderId): Promise<boolean> {
  const { acknowledged, registry, unplaced, clock } = context
  if (acknowledged.find(id) !== undefined) return true
  const asked = [...registry.values()].filter(live => live.item.gateEpoch > 0 && mayBeOf(live.item.id, id, clock.now()))
  for (let i = 0; i < asked.length; i += ITEMS_AT_ONCE_MAX) {
    const some = asked.slice(i, i + ITEMS_AT_ONCE_MAX)
    if ((await Promise.all(some.map(live => live.seller.outstanding()))).includes(true)) return true
  }
  return unplaced.orphaned(item => !registry.has(item) && mayBeOf(item, id, clock.now()))
}

/** A page, newest first. What a gate holds that does not answer is missing from it. */
export async function ordersOfBuyer(
  context: FindOrdersContext,
  buyer: BuyerId,
  after: OrderId | undefined,
  limit: number,
): Promise<readonly (Order | Reservation)[]> {
  const { found } = await reservationsOf(context, buyer, undefined)
  const told = context.acknowledged.ofBuyer(buyer).map(reservation => remembered(context, reservation))
  const mine = new Map<OrderId, Found>([...told, ...found].map(one => [one.reservation.id, one]))
  const placed = await context.orders.ofBuyer(buyer, after, limit)
  for (const { id } of placed) mine.delete(id)
  // Of a full page only what is newer than its end belongs to it: the rest may well be in the ledger, on another page.
  const end = placed.length < limit ? 0n : BigInt(placed.at(-1)?.id ?? 0)
  const reserved = [...mine.values()].filter(one => {
    const id = BigInt(one.reservation.id)
    return id > end && (after === undefined || id < BigInt(after)) && isShowable(one)
  })
  if (reserved.length === 0) return placed
  const all = [...placed, ...reserved.map(one => one.reservation)]
  return all.sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1)).slice(0, limit)
}

function remembered({ registry }: FindOrdersContext, reservation: Reservation): Found {
  return { reservation, live: registry.get(reservation.item) }
}

/** It is acknowledged by being shown. */
function isShowable({ reservation, live }: Found): boolean {
  return live?.seller.acknowledge(reservation) ?? false
}

/**
 * What the gates hold for this buyer, of the items whose filter does not rule it out. Not whole: of an item that this order can be of there
 * may be more, and it can't be told.
 */
async function reservationsOf(
  { registry, clock }: FindOrdersContext,
  buyer: BuyerId,
  id: OrderId | undefined,
): Promise<{ readonly found: readonly Found[]; readonly whole: boolean }> {
  // Where no gate was ever built, everything is in the ledger.
  const asked = [...registry.values()].filter(({ item, seller }) => item.gateEpoch > 0 && seller.knows(buyer))
  const found: Found[] = []
  let whole = true
  // A fault ends it, and is not waited for again with every further item: without this answer none of theirs is of use.
  for (let i = 0; i < asked.length; i += ITEMS_AT_ONCE_MAX)
    await Promise.all(asked.slice(i, i + ITEMS_AT_ONCE_MAX).map(ask))
  return { found, whole }

  async function ask(live: LiveItem): Promise<void> {
    // Behind the ledger's door every order is in the ledger already.
    const held = live.door === 'ledger' ? 'unknown' : await live.seller.find(buyer, true)
    if (held === 'unknown') {
      if (!whole || (id !== undefined && !mayBeOf(live.item.id, id, clock.now()))) return
      // Others are asked meanwhile: one that can tell does not answer for them.
      if (id !== undefined && (await live.seller.outstanding())) whole = false
      return
    }
    for (const one of held) if (one.live) found.push({ reservation: toReservation(live.sale, live.item, one), live })
  }
}

/** An order's id is made after its item's, and not in the future. */
function mayBeOf(item: ItemId, order: OrderId, nowMs: number): boolean {
  const madeMs = madeAtMs(order)
  return madeMs >= madeAtMs(item) - CLOCKS_APART_MS_MAX && madeMs <= nowMs + CLOCKS_APART_MS_MAX
}
