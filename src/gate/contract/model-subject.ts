/** What an adapter brings to the random lives: an item that nobody has used, and what can be done to it beside the gate's own verbs. */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Gate } from '../gate.ts'
import type { LocalView } from '../local-view.ts'
import type { ShardGate } from '../sharded/shard-gate.ts'

export interface ModelSubject {
  readonly item: ItemId
  readonly gate: Gate
  /** A gate with several shards. */
  readonly several?: {
    readonly count: number
    readonly shardGate: Pick<ShardGate, 'move'>
    /** The epoch has so many shards: called before anything is asked of it. */
    learn(epoch: Epoch, shards: number): void
  }
  /** Stands until it is moved; or it runs, and is moved by hours. */
  readonly clock: 'stands' | 'runs'
  readonly nowMs: number
  moveClock(ms: number): void
  /** A gate in the process. */
  readonly localView?: LocalView
}
