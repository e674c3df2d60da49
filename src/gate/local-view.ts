/**
 * What this process knows of the gate without a promise, for the edge's cheapest path: a refusal costs the reading of a number. Nothing
 * here takes, gives back or decides; the gate itself judges again when it is asked.
 */

import type { BuyerId, Epoch, ItemId } from '../domain/ids.ts'
import type { Ask, GateStatus, ReserveReply } from './gate.ts'
import type { Partition } from './outbox.ts'

type LocalRefusal = 'attempts_used' | 'not_enough'

export interface LocalView {
  /** The gate's clock: the one that judges the window. */
  nowMs(): number
  /**
   * The item's status, or undefined while it is not active. It may be a live object, which changes while the epoch is active: read it anew
   * for each decision, and copy what must not change.
   */
  statusNow(item: ItemId): GateStatus | undefined
  /**
   * The same to show it, without having it asked for: an item that is only looked at costs nothing. `anyAge`: the newest that is known,
   * however old. No buyer is refused by it.
   */
  shown(item: ItemId, anyAge: boolean): GateStatus | undefined
  /** Was `statusNow` not asked for this item lately? Then that it is not known says nothing about the gate: ask it. */
  isCold?(item: ItemId): boolean
  /** Has this buyer any attempt on the item, live or closed? Goes on answering from the last active epoch while the next one loads. */
  knows(item: ItemId, buyer: BuyerId): boolean
  /**
   * What the gate would refuse this ask with; undefined where it would not, or not for good: then ask it. Only a gate in the process has
   * this: elsewhere units may come back meanwhile.
   */
  refusal?(item: ItemId, epoch: Epoch, ask: Pick<Ask, 'buyer' | 'attempt' | 'quantity'>): LocalRefusal | undefined
  /** Frees an item whose sale is over. Its epochs stay fenced: only a higher one can bring the item back. */
  drop(item: ItemId): void
}

type Decided = Extract<ReserveReply, { readonly answers: unknown }>

/**
 * What an edge knows of a gate outside the process. Fed by the follow loop, by the gate's replies and by the channel; the newer
 * (epoch, version) wins. It says which items a status is to be asked for: those that clicks ask about, and those that have moved. Units that are moving between two shards count as left, so that no buyer is told "sold out" because of them.
 * `knows` may say yes of a buyer without an order (that costs a question), and never no of one who has: while the buyer filter is not known
 * to be complete for the newest status, it says yes to everybody.
 */
export interface GateCache extends LocalView {
  /** A status, and when it was asked for (monotonic, ms): one older than `freshMs` is not shown any more. */
  seen(status: GateStatus, askedAtMs: number): void
  /** Whose status is to be asked for now: `statusNow` was called lately, or a reply or a message has told of them since the last call. */
  wanted(): readonly ItemId[]
  /** Called when `statusNow` finds nothing fresh of an item that was cold. */
  onCold(listener: (item: ItemId) => void): void
  /** What a reservation's reply or message says: how much is left, and buyers for the filter. */
  reserved(
    of: ItemId | Partition,
    reply: Pick<Decided, 'epoch' | 'version' | 'left' | 'shard'>,
    buyers: readonly BuyerId[],
  ): void
  /** The gate's clock, between two moments of ours (wall clock not needed: monotonic ms). */
  clockSeen(nowMs: number, askedAtMs: number, answeredAtMs: number): void
  /**
   * Call it once a round: reads one incomplete buyer filter again, if it was incomplete a call ago too (messages under way complete most
   * of them), and none is being read. Resolves when that is done; a gate that does not answer is a Fault, and the next round tries again.
   * @param epochOf the epoch that the gate sells the item under; undefined: another door sells it
   */
  reloadFilters(epochOf: (item: ItemId) => Epoch | undefined): Promise<void>
  /** Messages may have been missed: no filter is believed until it was counted again. */
  missed(): void
}
