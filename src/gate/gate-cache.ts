/**
 * A gate outside the process, as an edge sees it without asking: the newest look at each item, the gate's clock, and who has an order.
 * Fed by the look loop, by the gate's replies and by the channel; the newer (epoch, version) wins. Behind `LocalView` the cheap path is the
 * same as with a gate in the process.
 *
 * An item in several places is known place by place: each has its own version and its own buyers. What is shown is their sum, with the
 * units that are under way between two of them: nobody is told "sold out" of those.
 *
 * `knows` may say yes of a buyer without an order (that costs a question), and never no of one who has: while the filter is not known to
 * be complete for the newest look, it says yes to everybody.
 */

import type { BuyerId } from '../domain/ids.ts'
import type { GateStatus } from './gate.ts'
import type { LocalView } from './local-view.ts'
import type { ShardId } from './shard-ids.ts'

export interface GateCache extends LocalView {
  /** A look, and when it was asked for (monotonic, ms): one older than `freshMs` is not shown any more. */
  seen(look: GateStatus, askedAtMs: number): void
  /** What a reservation's reply or message says beside its looks: newer left, and buyers for the filter. */
  reserved(place: ShardId, epoch: number, version: number, left: number, buyers: readonly BuyerId[]): void
  /** The gate's clock, between two moments of ours (wall clock not needed: monotonic ms). */
  clockSeen(nowMs: number, askedAtMs: number, answeredAtMs: number): void
  /** Places whose filter misses somebody, as far as the looks tell: to be reloaded. */
  incomplete(): readonly ShardId[]
  /** Buyers of a place, page by page, read after the look with `epoch` and `buyers` was taken. */
  reload(place: ShardId, epoch: number, pages: AsyncIterable<readonly BuyerId[]>): Promise<void>
  /** Messages may have been missed: no filter is believed until it was counted again. */
  missed(): void
}
