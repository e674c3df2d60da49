/**
 * What becomes of the entries that a worker takes from an outbox: order rows (straight), or copies in a log from which a group of workers
 * places them (`relay-entries.ts`). `app/` chooses once; the worker's loop does not know which it is.
 */

import type { Epoch } from '../../domain/ids.ts'
import type { OutboxEntry, Partition } from '../../gate/outbox.ts'
import { type PlaceContext, placeEntries } from './place-entries.ts'

export interface Taken {
  readonly status: 'ok'
  readonly entries: readonly OutboxEntry[]
  /** Entries may wait behind these. */
  readonly more: boolean
  /**
   * Delivers entries of one epoch, the oldest of them at least. Resolves with what tells the outbox so: the caller runs it in the same write
   * in which it takes the next ones. A fault leaves everything where it is; may be repeated from the start at any point.
   */
  deliver(epoch: Epoch, entries: readonly OutboxEntry[]): Promise<() => Promise<void>>
}

export interface Delivery {
  /** The oldest entries that are not delivered yet, under the worker's lease. */
  take(partition: Partition, worker: string, asksMax: number): Promise<Taken | { readonly status: 'held' }>
}

/** Entries become order rows, and are deleted after the commit. */
export function createStraightDelivery(context: PlaceContext): Delivery {
  const { outbox, channel } = context
  return {
    async take(partition, worker, asksMax) {
      const taken = await outbox.take(partition, worker, asksMax)
      if (taken.status === 'held') return taken
      return {
        ...taken,
        async deliver(epoch, entries) {
          const orders = await placeEntries(context, partition, epoch, entries)
          if (orders.length > 0) channel.publish({ kind: 'orders', orders })
          const ids = entries.map(entry => entry.id)
          return () => outbox.done(partition, epoch, ids)
        },
      }
    },
  }
}
