/**
 * What an edge knows of a gate outside the process without asking it: the newest status of each item, the gate's clock, and which buyers
 * have an order. Fed by the follow loop, by the gate's replies and by the channel; the newer (epoch, version) wins. As a `LocalView` it
 * serves the cheap path like a gate in the process.
 *
 * Units that are moving between two shards count as left, so that no buyer is told "sold out" because of them.
 * `knows` may say yes of a buyer without an order (that costs a question), and never no of one who has: while the buyer filter is not known
 * to be complete for the newest status, it says yes to everybody.
 */

import type { BuyerId, Epoch, ItemId } from '../domain/ids.ts'
import type { GateStatus, ReserveReply } from './gate.ts'
import type { LocalView } from './local-view.ts'
import type { Partition } from './outbox.ts'

type Decided = Extract<ReserveReply, { readonly answers: unknown }>

export interface GateCache extends LocalView {
  /** A status, and when it was asked for (monotonic, ms): one older than `freshMs` is not shown any more. */
  seen(status: GateStatus, askedAtMs: number): void
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
