/**
 * The journal of moves between the places of an item. A move is written down before any unit leaves its place, again when it is known how
 * many have, and once more when they have arrived: whoever dies in between leaves a row that says what is still to be done. One move of
 * an item is under way at a time; numbers go up.
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
  /** Undefined: not journalled yet. They may have left their place all the same. */
  readonly taken: number | undefined
  /** The gate it began in still sells the item. False: it never will again, so there is nothing to finish. */
  readonly current: boolean
}

export interface Moves {
  /** Over all items. */
  open(): Promise<readonly OpenMove[]>
  /** Its number. Undefined: another is under way, or this epoch's gate does not sell the item; nothing was written. */
  ask(
    item: ItemId,
    epoch: Epoch,
    move: { readonly from: number; readonly to: number; readonly wanted: number },
  ): Promise<number | undefined>
  /** False: somebody else has ended the move meanwhile, or has journalled something else. */
  taken(item: ItemId, no: number, taken: number): Promise<boolean>
  end(item: ItemId, no: number, how: 'done' | 'void'): Promise<void>
}
