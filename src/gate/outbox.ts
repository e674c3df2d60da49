/**
 * The outbox: reservations that were taken at the gate and are not in the ledger yet, in the order they were taken. Only `Gate.reserve`
 * writes it, in the very act that takes the units. An entry is one batch of one item under one epoch; it is deleted after the ledger's
 * commit and never before.
 *
 * An item's outbox has one or more partitions, which are drained independently of each other. One worker at a time has a partition: `take`
 * gives it a short lease with the oldest entries, and renews it. When the lease lapses, the next worker gets the same entries again. A
 * worker that slept through its lease may still place what it took: placing is idempotent.
 * Nothing here asks for the epoch or the server's identity (E1): what was acknowledged on this disk must reach the ledger, and the ledger
 * judges which entries may be placed (E5). A server that does not answer is a Fault; nothing is lost by asking again. Only `status` goes on
 * without it; a decision that needs an empty outbox uses `depth`, which is complete or throws.
 */

import type { Traces } from '../base/trace.ts'
import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Done, Holding, Release } from './gate.ts'

declare const partition: unique symbol
/** One independently drained part of an item's outbox. Opaque: only the gate makes and reads one. */
export type Partition = string & { readonly [partition]: true }

export type QueuedAsk = Omit<Holding, 'live'>

export interface OutboxEntry {
  /** Unique among the entries of an item and epoch. */
  readonly id: string
  readonly epoch: Epoch
  /** Undefined: the entry can't be read. It is kept until its raw text is stored elsewhere. */
  readonly asks: readonly QueuedAsk[] | undefined
  /** Of its orders that are traced; undefined: of none. */
  readonly traces?: Traces | undefined
  /** When its copy was sent, unix ms; undefined: it is no copy. */
  readonly copiedAtMs?: number | undefined
  /** As it stands in the outbox, for a dead letter. */
  readonly raw: string
}

export type TakeReply =
  /** `more`: entries may wait behind these. False: none did when these were taken. */
  | { readonly status: 'ok'; readonly entries: readonly OutboxEntry[]; readonly more: boolean }
  /** Another worker has the partition. */
  | { readonly status: 'held' }

export interface OutboxDepth {
  readonly item: ItemId
  readonly entries: number
  readonly units: number
  /** When its oldest entry was written, by the gate's clock. Undefined: it is empty. */
  readonly oldestMs: number | undefined
  /** By how many units the outbox's own count is off although nothing waits: it was written from outside (`OutboxBooks`). */
  readonly miscounted: number
}

export interface OutboxStatus {
  /** What could be seen. */
  readonly items: readonly OutboxDepth[]
  /** Items of which nothing is known, or not all: then they are in `items` too, and may have more. */
  readonly away: readonly ItemId[]
}

/** For reconciliation. */
export interface OutboxBooks {
  /** Compares the count of waiting units with the entries, and corrects it. Returns by how many units it was off. */
  recount(item: ItemId): Promise<number>
}

export interface Outbox {
  /** Of each item every partition that any of its epochs may have written. An item that the gate knows nothing of has none. */
  partitions(items: Iterable<ItemId>): readonly Partition[]
  itemOf(partition: Partition): ItemId
  /** The oldest entries of the lowest epoch that has any: at least one if there is one, together at most `asksMax` reservations if more than one. */
  take(partition: Partition, worker: string, asksMax: number): Promise<TakeReply>
  /** Deletes entries whose reservations the ledger has committed. Unknown ids change nothing. */
  done(partition: Partition, epoch: Epoch, ids: readonly string[]): Promise<void>
  /** `Gate.release` for reservations of this partition that the ledger refused. */
  release(partition: Partition, epoch: Epoch, releases: readonly Release[]): Promise<Done>
  /** Ends this worker's lease, for the next one; nothing if another worker has it. */
  give(partition: Partition, worker: string): Promise<void>
  /** Over all epochs of each item; a Fault when that can't be told of all of them. */
  depth(items: readonly ItemId[]): Promise<readonly OutboxDepth[]>
  /** The same, only of the servers that answer. Never a Fault. */
  status(items: readonly ItemId[]): Promise<OutboxStatus>
  /** Removes everything of an item whose sale is over and settled. Refused (false) while anything waits in its outbox. */
  forget(item: ItemId): Promise<boolean>
}
