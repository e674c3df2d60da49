/**
 * Retention: sales that are in the archive as a whole, with a final report of a certain age, leave the ledger for good. A sale is gone in one
 * transaction, for every reader, and its line with the results goes into the operators' log; its archived rows follow in batches. Dying in
 * between leaves rows that no reader shows; the next call deletes them.
 *
 * Never touches a sale that is not archived: what is not settled is not in the archive.
 */

import { faultPoint } from '../../base/fault-points.ts'
import type { SaleId } from '../../domain/ids.ts'
import type { Archive } from '../../ledger/archive.ts'

export interface Deleted {
  readonly sales: number
  readonly orders: number
  readonly payments: number
  readonly callbacks: number
}

const BATCH_MAX = 5_000

/** One after the other: to count many rows of a sale takes a moment. */
export async function* oldSales(archive: Pick<Archive, 'oldSales'>, olderThanMs: number, countMax: number) {
  for (let after: SaleId = '0'; ; ) {
    const [sale] = await archive.oldSales(after, olderThanMs, 1, countMax)
    if (sale === undefined) return
    yield sale
    after = sale.id
  }
}

export async function deleteOldSales(
  archive: Pick<Archive, 'oldSales' | 'deleteSale' | 'deleteRows' | 'deleteCallbacks'>,
  olderThanMs: number,
  by: string,
  onProgress: (deleted: Deleted) => void = () => {},
): Promise<Deleted> {
  let deleted: Deleted = { sales: 0, orders: 0, payments: 0, callbacks: 0 }
  const add = (more: Partial<Deleted>) => {
    const { sales = 0, orders = 0, payments = 0, callbacks = 0 } = more
    deleted = {
      sales: deleted.sales + sales,
      orders: deleted.orders + orders,
      payments: deleted.payments + payments,
      callbacks: deleted.callbacks + callbacks,
    }
    onProgress(deleted)
  }
  // They are counted as they are deleted.
  for await (const { id } of oldSales(archive, olderThanMs, 0)) {
    if (await archive.deleteSale(id, olderThanMs, by)) add({ sales: 1 })
    await faultPoint('retention.sale')
  }
  // Also those that an earlier call left.
  for (let rows = await archive.deleteRows(BATCH_MAX); rows !== undefined; rows = await archive.deleteRows(BATCH_MAX)) {
    add(rows)
    await faultPoint('retention.rows')
  }
  for (let full = true; full; ) {
    const callbacks = await archive.deleteCallbacks(olderThanMs, BATCH_MAX)
    add({ callbacks })
    full = callbacks === BATCH_MAX
  }
  return deleted
}
