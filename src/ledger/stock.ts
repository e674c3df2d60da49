/** Stock changes, numbered per item, one open at a time. Increases reach the ledger first, decreases leave the gate first. */

import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Door } from '../domain/item.ts'

export interface ChangeWish {
  readonly item: ItemId
  readonly delta: number
  readonly reason: string
  readonly by: string
  /** The same key again is the same change. */
  readonly key: string | undefined
}

/** `functions/ask_change.sql` says what each outcome means. */
export interface AskedChange {
  readonly outcome: 'asked' | 'applied' | 'done' | 'pending' | 'moving' | 'same' | 'no_item' | 'too_many'
  readonly no: number | undefined
}

/** A change that the gate or the ledger has not done yet. */
export interface OpenChange {
  readonly item: ItemId
  readonly no: number
  readonly delta: number
  readonly state: 'asked' | 'applied'
  readonly epoch: Epoch
  readonly door: Door
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
  ask(wish: ChangeWish): Promise<AskedChange>
  /** False: the gate that gave the units up was rebuilt meanwhile; it must do the change again. */
  settle(item: ItemId, no: number, epoch: Epoch, taken: number): Promise<boolean>
  open(item: ItemId | undefined): Promise<readonly OpenChange[]>
  find(item: ItemId, no: number): Promise<StockChange | undefined>
}
