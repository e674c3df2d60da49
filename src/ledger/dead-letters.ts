/** What could not be placed for a reason of its own, written down before it is taken out of the outbox. */

import type { Epoch, ItemId, OrderId } from '../domain/ids.ts'

export interface DeadLetter {
  readonly item: ItemId
  readonly epoch: Epoch
  /** The outbox entry it came from. */
  readonly entry: string
  /** Undefined: the entry could not even be read. */
  readonly order: OrderId | undefined
  readonly raw: string
  readonly why: string
}

export interface DeadLetters {
  /** The same entry and order again changes nothing. */
  write(letter: DeadLetter): Promise<void>
  list(max: number): Promise<readonly (DeadLetter & { readonly atMs: number })[]>
}
