/**
 * What processes say to each other in passing: a reservation was taken, orders changed, a sale changed. Nothing is kept and nothing is
 * promised: whoever did not listen, or lost the connection for a moment, reads the truth where it stands. `onGap` tells that this
 * happened. Messages from outside this project's processes are dropped unread.
 */

import type { BuyerId, Epoch, SaleId } from '../domain/ids.ts'
import type { Order } from '../domain/order.ts'
import type { ShardId } from './shard-ids.ts'

export type ChannelMessage =
  /** Written by `Gate.reserve` itself, in the same act. */
  | {
      readonly kind: 'reserved'
      /** The place: the item itself, or one of several. Version and left are its own. */
      readonly item: ShardId
      readonly epoch: Epoch
      readonly version: number
      readonly left: number
      readonly buyers: readonly BuyerId[]
    }
  | { readonly kind: 'orders'; readonly orders: readonly Order[] }
  | { readonly kind: 'sale'; readonly sale: SaleId }

export interface Channel {
  /** Never fails and never waits: what can't be said is not said. Comes back to the sender like to everybody else. */
  say(message: Exclude<ChannelMessage, { readonly kind: 'reserved' }>): void
  listen(listener: (message: ChannelMessage) => void): void
  /** Messages may have been missed since the last one heard. */
  onGap(listener: () => void): void
}
