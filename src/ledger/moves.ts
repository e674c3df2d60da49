/**
 * The journal of moves between the shards of an item. A move is written before any unit leaves its shard, again with the number of units that
 * left, and once more when they have arrived: a process that dies in between leaves a row that says what is to be done. One move of an item is
 * open at a time; numbers go up.
 */

import type { Epoch, ItemId } from '../domain/ids.ts'

interface OpenMove {
  readonly item: ItemId
  readonly no: number
  readonly epoch: Epoch
  /** Numbers of shards. */
  readonly from: number
  readonly to: number
  readonly wanted: number
  /** Undefined: not journalled yet. Units may have left their shard all the same. */
  readonly taken: number | undefined
  /** The gate it began in still sells the item. False: that gate never sells again, so there is nothing to finish. */
  readonly current: boolean
}

export interface Moves {
  /** Over all items. */
  open(): Promise<readonly OpenMove[]>
  /** Its number. Undefined: another move is open, or this epoch's gate does not sell the item; nothing was written. */
  ask(
    item: ItemId,
    epoch: Epoch,
    move: { readonly from: number; readonly to: number; readonly wanted: number },
  ): Promise<number | undefined>
  /** False: the move was ended meanwhile, or another figure was journalled. */
  taken(item: ItemId, no: number, taken: number): Promise<boolean>
  end(item: ItemId, no: number, how: 'done' | 'void'): Promise<void>
}
