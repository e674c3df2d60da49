/**
 * Moves units between the places of one item, half a move at a time: taken from one place, later given to another. Moves are numbered by
 * whoever keeps the journal, one after the other; a place takes part in a number once, and tells what it did when it is asked again. So a
 * mover that died after any step goes on with the same number, and no unit is there twice. Between the two halves the units are in the
 * journal and nowhere else. With a new epoch every place begins anew, and older moves are void.
 */

import type { Epoch } from '../domain/ids.ts'
import type { ShardId } from './shard-ids.ts'

export type MoveReply =
  /** Now or before. `taken` has the sign of its delta, and is nearer to 0 than asked when less was left. */
  | { readonly status: 'done'; readonly taken: number }
  /** The place has taken part in a higher number since: what this one did is not known here any more. */
  | { readonly status: 'past'; readonly moveNo: number }
  | { readonly status: 'stale' }
  | { readonly status: 'unknown' }

export interface Mover {
  /** @param no from 1 on; numbers may be left out, for moves of other places */
  move(place: ShardId, epoch: Epoch, no: number, delta: number): Promise<MoveReply>
}
