/**
 * What comes with orders for their parcels is written beside them, many at a time: after the order is placed or acknowledged, by the edge that has the
 * body. An order never waits for it in the gate or the queue. If the process dies first, or the ledger is away for too long, it is lost; the order stands, and
 * the buyer is asked for the contact again before paying. The same order call again brings it again.
 *
 * Bounded: what waits for the ledger, in number (each is at most one body). What does not fit is lost, and counted.
 */

import { createBatcher } from '../../base/batching/batcher.ts'
import type { Clock } from '../../base/clock.ts'
import { Fault, onFault } from '../../base/fault.ts'
import { faultPoint } from '../../base/fault-points.ts'
import type { Log } from '../../base/log.ts'
import type { Meters } from '../../base/meters.ts'
import { createSharedTimeout } from '../../base/shared-timeout.ts'
import type { OrderId } from '../../domain/ids.ts'
import type { Parcel } from '../../domain/parcel.ts'
import type { ParcelOfOrder, Parcels } from '../../ledger/parcels.ts'

/** Keeps nothing. */
export const NO_PARCELS: Pick<ParcelDesk, 'keep' | 'read'> = { keep: async () => {}, read: async () => undefined }

interface DeskParts {
  readonly parcels: Pick<Parcels, 'fill' | 'of'>
  readonly clock: Clock
  readonly meters: Meters
  readonly log: Log
}

const BATCH_MAX = 200
const WAITING_MAX = 2_000
/** A buyer who pays at once finds the contact there, unless the ledger is slow. */
const WRITTEN_MS_MAX = 250

export type ParcelDesk = ReturnType<typeof createParcelDesk>

export function createParcelDesk({ parcels, clock, meters, log }: DeskParts) {
  /** The ledger did not answer: written again by the next round. */
  let again: ParcelOfOrder[] = []
  const inTime = createSharedTimeout({ clock, ms: WRITTEN_MS_MAX })
  const writes = createBatcher<ParcelOfOrder, void>({
    batchMax: BATCH_MAX,
    queueMax: WAITING_MAX,
    run: async batch => {
      await write(batch)
      return batch.map(() => undefined)
    },
  })
  const reads = createBatcher<OrderId, Parcel | undefined>({
    batchMax: BATCH_MAX,
    queueMax: WAITING_MAX,
    async run(orders) {
      const found = await parcels.of([...new Set(orders)])
      return orders.map(order => found.get(order))
    },
  })

  function lose(count: number, why: string): void {
    meters.count('parcels', 'lost', count)
    log.warn({ event: 'parcels_lost', orders: count, why }, 'contact or metadata of orders not written')
  }

  /** Never rejects. */
  async function write(batch: readonly ParcelOfOrder[]): Promise<void> {
    await faultPoint('parcel.before')
    // The first of an order counts, as it would in the ledger.
    const each = [...new Map(batch.toReversed().map(one => [one.order, one])).values()]
    const fault = await onFault(
      async () => void (await parcels.fill(each)),
      one => one,
    )
    if (fault === undefined) meters.count('parcels', 'written', each.length)
    else if (fault.retryable) keepForLater(each)
    else if (each.length > 1) for (const one of each) await write([one])
    else lose(1, fault.code)
  }

  function keepForLater(some: readonly ParcelOfOrder[]): void {
    const all = [...again, ...some]
    if (all.length > WAITING_MAX) lose(all.length - WAITING_MAX, 'too many wait')
    again = all.slice(-WAITING_MAX)
  }

  return {
    /** Resolves when it is written, or soon. */
    async keep(parcel: ParcelOfOrder): Promise<void> {
      const written = writes.join(parcel)
      if (written === undefined) lose(1, 'too many wait')
      else await inTime(written)
    },
    /** Undefined: it has none, or it can't be read now. */
    read: (order: OrderId): Promise<Parcel | undefined> =>
      onFault(async () => {
        const read = reads.join(order)
        if (read === undefined) throw new Fault('line_full', 'too many contacts wait to be read', { retryable: true })
        return await read
      }),
    /** Writes what could not be written before. */
    async round(): Promise<void> {
      for (let left = again.length; left > 0 && again.length > 0; left -= BATCH_MAX) {
        const batch = again.slice(0, BATCH_MAX)
        again = again.slice(batch.length)
        await write(batch)
      }
    },
    drained: () => writes.drained(),
  }
}
