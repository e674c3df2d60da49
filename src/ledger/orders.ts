/**
 * Orders in the ledger, as the flows need them. The ledger is the truth: what it has committed is sold, and nothing else is.
 * Every verb is idempotent by order id. A fault with `outcomeUnknown` means: it may have been committed; ask again with the same ids.
 */

import type { BuyerId, Epoch, ItemId, OrderId, SaleId } from '../domain/ids.ts'
import type { Door } from '../domain/item.ts'
import type { Order, OrderState } from '../domain/order.ts'

/** A reservation on its way into the ledger. */
export interface PlaceAsk {
  readonly order: OrderId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
  readonly reservedAtMs: number
}

/**
 * placed   the order row is committed, now
 * same     it was committed before, under this very id
 * refused  a row closed/refused is committed instead (too few available, another order stands)
 * foreign  the id belongs to another buyer's order: nothing was written. A bug or an attack; alarm
 */
export type Placing =
  | { readonly verdict: 'placed'; readonly order: Order }
  | { readonly verdict: 'same'; readonly order: Order }
  | { readonly verdict: 'refused'; readonly order: Order }
  | { readonly verdict: 'foreign' }

export type PlaceReply =
  | { readonly status: 'ok'; readonly available: number; readonly placings: readonly Placing[] }
  /** Another epoch owns the item (E5). Nothing was written. */
  | { readonly status: 'stale' }

/** What the gate is built from, read under one item lock (E9). */
interface SnapshotTerms {
  readonly available: number
  readonly held: number
  readonly buyers: number
  readonly attemptsMax: number
  readonly changeNo: number
  readonly opensAtMs: number
  readonly closesAtMs: number
  readonly state: 'open' | 'paused' | 'over'
}

interface SnapshotHolding {
  readonly order: OrderId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
  readonly live: boolean
  readonly reservedAtMs: number
}

/** Pieces by state, read in one statement together with the item. */
export interface ItemAudit {
  readonly item: ItemId
  readonly units: number
  readonly available: number
  readonly pending: number
  readonly paid: number
  readonly closed: number
  /** Pieces back in the ledger, not yet in the gate, and how long the oldest of them has waited. */
  readonly releases: number
  readonly oldestReleaseMs: number | undefined
  /** Pieces written off together with their order, whose attempt the gate has not closed yet. */
  readonly gone: number
  readonly door: Door
  readonly epoch: Epoch
  readonly gateEpoch: Epoch
}

export interface OrderQuery {
  readonly sale: SaleId
  readonly state?: OrderState
  readonly buyer?: BuyerId
  readonly after?: OrderId
  readonly limit: number
}

export interface Orders {
  /** A batch of one item, decided in arrival order, in one transaction. `acknowledged`: the buyers were told "reserved" already. */
  place(item: ItemId, epoch: Epoch, acknowledged: boolean, asks: readonly PlaceAsk[]): Promise<PlaceReply>
  /** Takes the item for a new epoch: door = draining in the same act (E3). */
  bump(item: ItemId): Promise<Epoch>
  /** Compare-and-set on the epoch. False: somebody else has bumped since. */
  turn(item: ItemId, epoch: Epoch, door: Door): Promise<boolean>
  /** Reads what the gate needs under one item lock and makes `epoch` the one whose entries are placed (E5, E9). Undefined: not our epoch any more. */
  snapshot(
    item: ItemId,
    epoch: Epoch,
    onPage: (page: readonly SnapshotHolding[]) => Promise<void>,
  ): Promise<SnapshotTerms | undefined>
  find(ids: readonly OrderId[]): Promise<readonly Order[]>
  findByAttempt(item: ItemId, buyer: BuyerId, attempt: number): Promise<Order | undefined>
  ofBuyer(buyer: BuyerId, after: OrderId | undefined, limit: number): Promise<readonly Order[]>
  list(query: OrderQuery): Promise<readonly Order[]>
  audit(sale: SaleId): Promise<readonly ItemAudit[]>
}
