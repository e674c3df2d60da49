/**
 * The item's rights: its epoch and its door say who may sell it. The epoch is a fencing token: it only goes up, and what was reserved under
 * another epoch than the one of the item's gate is not placed (E5). Every write here compares the epoch first, except the two that need none:
 * raising it, and an operator's decision.
 */

import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Door, Item } from '../domain/item.ts'
import type { Sale } from '../domain/sale.ts'
import type { PlaceAsk } from './orders.ts'

/** What the gate is built from, read under one item lock (E9). */
export interface SnapshotTerms
  extends Pick<Item, 'available' | 'attemptsMax' | 'changeNo' | 'gateShards'>,
    Pick<Sale, 'opensAtMs' | 'closesAtMs' | 'stateNo'> {
  readonly held: number
  readonly buyers: number
  readonly state: 'open' | 'paused' | 'over'
  /** One shard, though more were wanted: a process of an older version lives, which does not read an item's shards. */
  readonly olderVersions: boolean
}

export type SnapshotHolding = PlaceAsk & { readonly live: boolean }

export interface Rights {
  read(item: ItemId): Promise<Pick<Item, 'epoch' | 'door'> | undefined>
  /** Takes the item for a new epoch and sets its door to `draining` in the same UPDATE (E3). */
  raiseEpoch(item: ItemId): Promise<Epoch>
  /** Compare-and-set on the epoch. False: the epoch was raised meanwhile. */
  setDoor(item: ItemId, epoch: Epoch, door: Door): Promise<boolean>
  /** Removed from the gate under this epoch; the door is shut. False: the epoch was raised meanwhile. */
  setForgotten(item: ItemId, epoch: Epoch): Promise<boolean>
  /** An operator's decision (E10): from `shut` to `ledger`, under the epoch it has. True also if the door is `ledger` already. */
  openLedgerDoor(item: ItemId, by: string): Promise<boolean>
  /** Shuts the doors of items that no process sells any more, without those named. Only the holder of the leader lock may call it. */
  shutIdle(liveItems: readonly ItemId[]): Promise<readonly ItemId[]>
  /**
   * Reads what the gate needs under one item lock and makes `epoch` the one whose entries are placed (E5, E9). Undefined: the item has
   * another epoch.
   * @param compact one shard, however many units there are
   * @param begun called under the lock, before the first page; without it the gate has one shard
   */
  snapshot(
    item: ItemId,
    epoch: Epoch,
    onPage: (page: readonly SnapshotHolding[]) => Promise<void>,
    compact?: boolean,
    begun?: (counts: { readonly shards: number; readonly gateShards: number }) => void,
  ): Promise<SnapshotTerms | undefined>
  /** The ledger's clock, unix ms. */
  now(): Promise<number>
}
