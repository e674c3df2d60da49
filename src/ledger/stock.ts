/** Stock changes, numbered per item, one open at a time. Increases reach the ledger first, decreases leave the gate first. */

import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'

/** An item's rights, as read before the lock was held. */
export type JudgedRights = Pick<Item, 'epoch' | 'door'>

export interface ChangeWish extends Pick<StockChange, 'delta' | 'reason' | 'by'> {
  readonly item: ItemId
  /** The same key again is the same change. */
  readonly key: string | undefined
}

/** `functions/ask_change.sql` says what each outcome means. */
export interface AskedChange {
  readonly outcome: 'asked' | 'applied' | 'done' | 'pending' | 'moving' | 'same' | 'no_item' | 'too_many'
  readonly no: number | undefined
}

/** A change that the gate or the ledger has not done yet. */
export interface OpenChange extends JudgedRights, Pick<StockChange, 'no' | 'delta'> {
  readonly item: ItemId
  readonly state: 'asked' | 'applied'
}

export interface StockChange {
  readonly no: number
  readonly delta: number
  /** Undefined until the gate has given its units up. */
  readonly taken: number | undefined
  readonly state: 'asked' | 'applied' | 'done'
  readonly reason: string
  readonly by: string
  readonly atMs: number
}

export interface Stock {
  /** @param judged the rights under which it was judged that units may be taken away; `moving` if the item has others by now */
  ask(wish: ChangeWish, judged?: JudgedRights): Promise<AskedChange>
  /** False: the gate that gave the units up was rebuilt meanwhile, or the rights are not the judged ones: the change must be done again. */
  settle(item: ItemId, no: number, epoch: Epoch, taken: number, judged?: JudgedRights): Promise<boolean>
  open(item: ItemId | undefined): Promise<readonly OpenChange[]>
  find(item: ItemId, no: number): Promise<StockChange | undefined>
}
