/**
 * The outbox: reservations that were taken at the gate and are not in the ledger yet, in the order they were taken. Only `Gate.reserve`
 * writes it, in the very act that takes the units. An entry is one batch of one item under one epoch; it is deleted after the ledger's
 * commit and never before.
 *
 * One worker at a time has an item: `take` gives it a short lease with the oldest entries, and renews it. When the lease lapses, the next
 * worker gets the same entries again. A worker that slept through its lease may still place what it took: placing is idempotent.
 * Nothing here asks for the epoch or the server's identity (E1): what was acknowledged on this disk must reach the ledger, and the ledger
 * judges which entries may be placed (E5). A server that does not answer is a Fault; nothing is lost by asking again. Only `look` goes on
 * without it: who decides whether anything waits asks for the `depth`, which is whole or not there.
 */

import type { BuyerId, Epoch, ItemId, OrderId } from '../domain/ids.ts'

export interface QueuedAsk {
  readonly order: OrderId
  readonly buyer: BuyerId
  readonly attempt: number
  readonly quantity: number
  readonly reservedAtMs: number
}

export interface OutboxEntry {
  readonly id: string
  readonly epoch: Epoch
  /** Undefined: the entry can't be read. It is kept until somebody has written it down elsewhere. */
  readonly asks: readonly QueuedAsk[] | undefined
  /** As it stands in the outbox, for a dead letter. */
  readonly raw: string
}

export type TakeReply =
  | { readonly status: 'ok'; readonly entries: readonly OutboxEntry[] }
  /** Another worker has the item. */
  | { readonly status: 'held' }

export interface OutboxDepth {
  readonly item: ItemId
  readonly entries: number
  readonly units: number
  /** When its oldest entry was written, by the gate's clock. Undefined: it is empty. */
  readonly oldestMs: number | undefined
}

export interface OutboxStatus {
  /** What could be seen. */
  readonly items: readonly OutboxDepth[]
  /** Of these nothing is known, or not all: then they stand above too, and there may be more. */
  readonly away: readonly ItemId[]
}

export interface Outbox {
  /** The oldest entries of the lowest epoch that has any: at least one if there is one, together at most `asksMax` reservations if more than one. */
  take(item: ItemId, worker: string, asksMax: number): Promise<TakeReply>
  /** Deletes entries whose reservations the ledger has committed. Unknown ids change nothing. */
  done(item: ItemId, epoch: Epoch, ids: readonly string[]): Promise<void>
  /** Lets go of the item, for whoever is next; nothing if another has it. */
  give(item: ItemId, worker: string): Promise<void>
  /** Over all epochs of each item; a Fault when that can't be told of all of them. */
  depth(items: readonly ItemId[]): Promise<readonly OutboxDepth[]>
  /** The same for whoever only watches: as much as answers. Never a Fault. */
  status(items: readonly ItemId[]): Promise<OutboxStatus>
  /** Removes everything of an item whose sale is over and settled. Refused (false) while anything waits in its outbox. */
  forget(item: ItemId): Promise<boolean>
}
