/**
 * A gate and an outbox as they are for one shard: the contracts of the whole, for each shard alone, and what `sharded/` needs beside them to
 * make one item of several shards. The status of a shard that is one of several carries `shards`, with that one in it.
 *
 * Units move between two shards in two halves (`move-units.ts`): a shard takes part in the number of a move once, and repeats its answer
 * when it is asked again. Between the two halves the units are in the journal and nowhere else. With a new epoch every shard begins anew.
 */

import type { Epoch } from '../../domain/ids.ts'
import type { ChangeReply, Gate, GateBooks, NotDone } from '../gate.ts'
import type { Outbox, TakeReply } from '../outbox.ts'
import type { CopiedUpTo } from '../relay-cursor.ts'
import type { ShardId } from '../shard-ids.ts'

export type LoadedReply =
  | { readonly status: 'ok'; readonly held: number; readonly buyers: number }
  /** The epoch is active here already. */
  | { readonly status: 'active' }
  /** stale: it can't be activated here any more. */
  | NotDone

export interface ShardGate extends Gate, GateBooks {
  /** What the pages loaded under this epoch add up to. */
  loaded(shard: ShardId, epoch: Epoch): Promise<LoadedReply>
  /**
   * Half a move; answers as `change` does, without `gap`: a shard does not see the numbers of moves between others, and has no part in a
   * lower one any more (`past`).
   */
  move(shard: ShardId, epoch: Epoch, no: number, delta: number): Promise<ChangeReply>
}

export interface ShardOutbox extends Pick<Outbox, 'depth' | 'status' | 'forget'> {
  recount(shard: ShardId): Promise<number>
  take(shard: ShardId, worker: string, asksMax: number): Promise<TakeReply>
  done(shard: ShardId, epoch: Epoch, ids: readonly string[]): Promise<void>
  give(shard: ShardId, worker: string): Promise<void>
}

/** `RelayCursor` of one shard. */
export interface ShardCursor {
  uncopied(shard: ShardId, worker: string, asksMax: number): Promise<TakeReply>
  copied(shard: ShardId, upTo: CopiedUpTo): Promise<void>
  cursors(shard: ShardId): Promise<readonly CopiedUpTo[]>
  rewind(shard: ShardId, upTo: CopiedUpTo): Promise<boolean>
}
