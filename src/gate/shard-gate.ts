/**
 * A gate whose items may be places of a larger one: the contract of the gate itself, for each place alone, and what is needed beside it to
 * make one item of several places (`sharded/`). Its looks at a place that is one of several carry `places`, with that one in it.
 */

import type { Epoch } from '../domain/ids.ts'
import type { GateBooks } from './books.ts'
import type { Gate } from './gate.ts'
import type { Mover } from './mover.ts'
import type { ShardId } from './shard-ids.ts'

export type LoadedReply =
  | { readonly status: 'ok'; readonly held: number; readonly buyers: number }
  /** The epoch is active here already. */
  | { readonly status: 'active' }
  /** It can't be activated here any more. */
  | { readonly status: 'stale' }
  | { readonly status: 'unknown' }

export interface ShardGate extends Gate, GateBooks, Mover {
  /** What the pages loaded under this epoch add up to. */
  loaded(place: ShardId, epoch: Epoch): Promise<LoadedReply>
}
