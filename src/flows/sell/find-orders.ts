/**
 * A buyer's own orders, readable at once from any edge: what is in the ledger, and beside it what is reserved at the gate and on its way.
 * The ledger is read after the gate and wins, so nobody is shown an older state than was told before: what the gate calls held may have
 * been placed, paid or closed since. Who is shown a reservation was told of it, so it is acknowledged like any other (E2, E6).
 * Where no gate can answer, an order may be there that nobody sees; unless its id can't be one of that item, or everything that was ever
 * reserved of the item is in the ledger.
 *
 * Behind a gate in the process there is nothing beside the ledger: nobody is told of a reservation there.
 */

import { Fault } from '../../base/fault.ts'
import { madeAtMs } from '../../base/snowflake.ts'
import type { BuyerId, Epoch, ItemId, OrderId } from '../../domain/ids.ts'
import type { Item } from '../../domain/item.ts'
import type { Order, Reservation } from '../../domain/order.ts'
import type { Gate } from '../../gate/gate.ts'
import type { LocalView } from '../../gate/local-view.ts'
import type { Orders } from '../../ledger/orders.ts'
import { type AcknowledgeParts, acknowledge } from '../follow/acknowledged-reservations.ts'
import type { UnplacedReservationsParts } from '../follow/unplaced-reservations.ts'
import { isDrained } from '../keep/drain.ts'
import { mayBeOrphaned } from '../keep/orphaned-entries.ts'
import { type LiveItem, type Registry, toReservation } from './live-item.ts'

export interface FindOrdersParts {
  readonly orders: Pick<Orders, 'find' | 'ofBuyer'>
  /** Undefined: the gate is in the process. */
  readonly reserved?: ReservedOrdersParts | undefined
}

export interface ReservedOrdersParts extends AcknowledgeParts, UnplacedReservationsParts {
  readonly gate: Pick<Gate, 'find'>
  readonly near: Pick<LocalView, 'knows'>
  readonly registry: Registry
}

type FindOrderOutcome =
  | { readonly kind: 'found'; readonly order: Order | Reservation }
  | { readonly kind: 'missing' }
  /** It may be held by a gate that does not answer. */
  | { readonly kind: 'busy' }

/** So many items are asked about at a time. */
const ITEMS_AT_ONCE_MAX = 32
/** No clock of ours is off by so much. */
const CLOCKS_APART_MS_MAX = 86_400_000

/** One order, if it is this buyer's: another's is not there, for all this buyer can tell. */
export async function findOrder(parts: FindOrdersParts, id: OrderId, buyer: BuyerId): Promise<FindOrderOutcome> {
  const first = await inLedger()
  if (first !== undefined || parts.reserved === undefined) return first ?? { kind: 'missing' }
  const known = parts.reserved.acknowledged.find(id)?.reservation
  const { held, whole } =
    known === undefined ? await reservationsOf(parts.reserved, buyer, id) : { held: [known], whole: true }
  const reservation = held.find(one => one.id === id && one.buyer === buyer)
  const elsewhere = reservation === undefined && (!whole || (await behind(parts.reserved, id)))
  // What was on its way when it was first looked for may have arrived.
  const since = await inLedger()
  if (since !== undefined) return since
  if (reservation === undefined) return { kind: elsewhere ? 'busy' : 'missing' }
  return showable(parts.reserved, reservation) ? { kind: 'found', order: reservation } : { kind: 'busy' }

  async function inLedger(): Promise<FindOrderOutcome | undefined> {
    const [order] = await parts.orders.find([id])
    if (order === undefined) return undefined
    return order.buyer === buyer ? { kind: 'found', order } : { kind: 'missing' }
  }
}

/** A page, newest first. What a gate holds that does not answer is missing from it. */
export async function ordersOfBuyer(
  parts: FindOrdersParts,
  buyer: BuyerId,
  after: OrderId | undefined,
  limit: number,
): Promise<readonly (Order | Reservation)[]> {
  if (parts.reserved === undefined) return parts.orders.ofBuyer(buyer, after, limit)
  const { held } = await reservationsOf(parts.reserved, buyer, undefined)
  const mine = new Map([...parts.reserved.acknowledged.ofBuyer(buyer), ...held].map(one => [one.id, one]))
  const placed = await parts.orders.ofBuyer(buyer, after, limit)
  for (const { id } of placed) mine.delete(id)
  // Of a full page only what is newer than its end belongs to it: the rest may well be in the ledger, on another page.
  const end = placed.length < limit ? 0n : BigInt(placed.at(-1)?.id ?? 0)
  const reserved = [...mine.values()].filter(one => {
    const id = BigInt(one.id)
    return id > end && (after === undefined || id < BigInt(after)) && showable(parts.reserved!, one)
  })
  if (reserved.length === 0) return placed
  return [...placed, ...reserved].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? 1 : -1)).slice(0, limit)
}

/** What this process has told already may be told again; anything else is acknowledged by being shown. */
function showable(parts: ReservedOrdersParts, reservation: Reservation): boolean {
  return (
    parts.acknowledged.find(reservation.id) !== undefined ||
    acknowledge(parts, parts.registry.get(reservation.item), reservation)
  )
}

/**
 * What the gate holds for this buyer, of the items whose filter does not rule it out. Not whole: of an item that this order can be of it may
 * hold more, and nobody can tell.
 */
async function reservationsOf(
  parts: ReservedOrdersParts,
  buyer: BuyerId,
  id: OrderId | undefined,
): Promise<{ readonly held: readonly Reservation[]; readonly whole: boolean }> {
  const { gate, near, registry, clock } = parts
  // Where no gate was ever built, everything is in the ledger.
  const asked = [...registry.values()].filter(
    ({ door, item }) => item.gateEpoch > 0 && (door === 'ledger' || near.knows(item.id, buyer)),
  )
  const held: Reservation[] = []
  let whole = true
  for (let i = 0; i < asked.length; i += ITEMS_AT_ONCE_MAX)
    await Promise.all(asked.slice(i, i + ITEMS_AT_ONCE_MAX).map(look))
  return { held, whole }

  async function look({ sale, item, door, epoch }: LiveItem): Promise<void> {
    if (door === 'ledger') {
      if (await promisedBefore(item, epoch)) whole = false
      return
    }
    const found = await gate.find(item.id, buyer, true).catch((error: unknown) => {
      if (error instanceof Fault) return { status: 'unknown' as const }
      throw error
    })
    if (found.status !== 'ok') {
      if (!whole || (id !== undefined && !mayBeOf(item.id, id, clock.now()))) return
      const none = id !== undefined && found.status === 'stale' && (await drained(item.id))
      // Others are looked at meanwhile: one that can tell does not answer for them.
      if (!none) whole = false
      return
    }
    for (const one of found.holdings) if (one.live) held.push(toReservation(sale, item, one))
  }

  /** Behind the ledger's door everything is in the ledger, unless an operator opened it while somebody's last word was missing (E10). */
  async function promisedBefore(item: Item, epoch: Epoch): Promise<boolean> {
    if (!whole || id === undefined || item.homeDoor === 'ledger' || !mayBeOf(item.id, id, clock.now())) return false
    return (await parts.nodes.unconfirmed(item.id, epoch)).lapsed > 0
  }

  async function drained(item: ItemId): Promise<boolean> {
    try {
      return await isDrained(parts, item)
    } catch (error) {
      if (error instanceof Fault) return false
      throw error
    }
  }
}

/** Whether it may be of a sale that is not followed any more, and still on its way. */
function behind(parts: ReservedOrdersParts, id: OrderId): Promise<boolean> {
  return mayBeOrphaned(parts, item => !parts.registry.has(item) && mayBeOf(item, id, parts.clock.now()))
}

/** An order's id is made after its item's, and not in the future. */
function mayBeOf(item: ItemId, order: OrderId, nowMs: number): boolean {
  const madeMs = madeAtMs(order)
  return madeMs >= madeAtMs(item) - CLOCKS_APART_MS_MAX && madeMs <= nowMs + CLOCKS_APART_MS_MAX
}
