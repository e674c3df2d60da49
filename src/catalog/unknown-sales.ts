/**
 * Reads sales by id, those that this process does not know in batches at a bounded pace: made-up ids cost the ledger one statement in
 * `READ_EVERY_MS`, however many there are. The first after a pause is read at once, and so is every sale that is known here.
 * Bounded: `WAITING_MAX` ids wait, one more is a fault.
 */

import { createPacedBatcher } from '../base/batching/paced-batcher.ts'
import type { Clock } from '../base/clock.ts'
import { Fault } from '../base/fault.ts'
import type { SaleId } from '../domain/ids.ts'
import type { Sale } from '../domain/sale.ts'

interface UnknownSalesParts {
  readonly clock: Clock
  readonly knows: (id: SaleId) => boolean
  readonly find: (id: SaleId) => Promise<Sale | undefined>
  readonly findAll: (ids: readonly SaleId[]) => Promise<readonly Sale[]>
}

const READ_EVERY_MS = 100
const WAITING_MAX = 1_000
const READS_AT_ONCE_MAX = 2

export function createSaleReader({ clock, knows, find, findAll }: UnknownSalesParts) {
  const unknown = createPacedBatcher<SaleId, Sale | undefined>({
    clock,
    everyMs: READ_EVERY_MS,
    batchMax: WAITING_MAX,
    queueMax: WAITING_MAX,
    atOnceMax: READS_AT_ONCE_MAX,
    async run(ids) {
      const found = new Map((await findAll(ids)).map(sale => [sale.id, sale]))
      return ids.map(id => found.get(id))
    },
  })
  return async (id: SaleId): Promise<Sale | undefined> => {
    if (knows(id)) return find(id)
    const read = unknown.join(id)
    if (read === undefined) throw new Fault('catalog_busy', 'too many unknown sales are looked up', { retryable: true })
    return read
  }
}
