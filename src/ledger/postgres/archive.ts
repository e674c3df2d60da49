/** The archive in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import type { Archive, Erased } from '../archive.ts'
import type { Database } from './connection/database.ts'
import { columns, number, optional, queries, text, time } from './rows.ts'

/** Ends a transaction whose answer is all that is wanted. */
const ROLL_BACK = new Error('rolled back')

/** @param gateElsewhere a gate outside the process may have an item: it must be marked as forgotten first */
export function createArchive(database: Database, gateElsewhere: boolean): Archive {
  const { all, first, one } = queries(database)
  return {
    toArchive: (after, afterMs, max) =>
      all('items_to_archive', [after, afterMs, gateElsewhere, max], row => text(row, 'id')),
    move: (item, after, max) =>
      first('archive_orders', [item, after, max], row => ({
        moved: number(row, 'moved'),
        last: optional(row, 'last', text),
      })),
    oldSales: (after, olderThanMs, max, countMax) =>
      all('sales_to_delete', [after, olderThanMs, max, countMax], row => ({
        ...columns(row, text, 'id', 'name'),
        ...columns(row, number, 'orders', 'payments'),
        closesAtMs: time(row, 'closes_at'),
      })),
    deleteSale: (sale, olderThanMs, by) =>
      database.transaction(async run => {
        await run('lock_sale', [sale])
        await run('lock_items', [sale, null])
        return (await run('delete_sale_of_archive', [sale, olderThanMs, by])).length === 1
      }),
    deleteRows: max =>
      one('delete_archived', [max], row => (row.more ? columns(row, number, 'orders', 'payments') : undefined)),
    deleteCallbacks: async (olderThanMs, max) => (await database.run('delete_callbacks', [olderThanMs, max])).length,
    async erase(buyer, by, dry) {
      let erased: Erased | undefined
      const work = database.transaction(async run => {
        await run('lock_items', [null, buyer])
        const [row] = await run('erase_buyer', [buyer, by])
        assert(row !== undefined, 'erase_buyer answered no row')
        erased = columns(row, number, 'orders', 'archived', 'letters', 'reports', 'remaining')
        if (dry) throw ROLL_BACK
      })
      await work.catch((error: unknown) => {
        if (error !== ROLL_BACK) throw error
      })
      assert(erased !== undefined, 'nothing was counted')
      return erased
    },
  }
}
