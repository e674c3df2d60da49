/**
 * Messages between processes: a reservation was taken, orders changed, a sale changed. At most once: a process that was not connected does
 * not get them later, is told so by `onGap`, and reads the ledger or the gate instead. Messages of another shape are dropped.
 */

import type { BuyerId, Epoch, ItemId, SaleId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { Partition } from './outbox.ts'

export type ChannelMessage =
  /**
   * Written by `Gate.reserve` itself, in the same act. Without buyers: something else than a reservation has changed the stock, or (version 0)
   * nothing has, and entries may wait.
   */
  | {
      readonly kind: 'reserved'
      readonly item: ItemId
      /** Where the entry was written. Version and left are those of this part of the item. */
      readonly partition: Partition
      readonly epoch: Epoch
      readonly version: number
      readonly left: number
      readonly buyers: readonly BuyerId[]
    }
  | { readonly kind: 'orders'; readonly orders: readonly Order[] }
  | { readonly kind: 'sale'; readonly sale: SaleId }

export interface Channel {
  /** Never fails and never waits: a message that can't be sent is dropped. The sender's own listeners get it too, orders at once. */
  publish(message: Exclude<ChannelMessage, { readonly kind: 'reserved' }>): void
  /** Entries of this epoch may wait in the outbox though no worker has placed them: the message about them may be lost. */
  wake?(partition: Partition, epoch: Epoch): void
  listen(listener: (message: ChannelMessage) => void): void
  /** Called when messages may have been missed. */
  onGap(listener: () => void): void
}
