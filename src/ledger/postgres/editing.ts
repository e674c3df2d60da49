/** Editing in PostgreSQL: one transaction under the sale's row lock. */

import { assert } from '../../base/assert.ts'
import type { Editing, SaleWrite } from '../editing.ts'
import type { Database } from './database.ts'
import { itemColumns } from './item-columns.ts'
import { time, toSales } from './rows.ts'

export function createEditing(database: Database): Editing {
  return {
    edit(id, by, decide) {
      return database.transaction(async run => {
        if ((await run('lock_sale', [id])).length === 0) return undefined
        // Read after the lock is ours: what was true while we waited for it does not count.
        const [sale] = toSales(await run('find_sale', [id]))
        const [clock] = await run('now', [])
        assert(sale !== undefined && clock !== undefined, `sale ${id} is locked and can't be read`)
        const { write, result } = decide(sale, time(clock, 'now'))
        if (write === undefined) return result
        assert(write.sale.id === id, `the edit of sale ${id} came back as ${write.sale.id}`)
        assert(write.items !== 'replaced' || sale.state === 'draft', `sale ${id} is no draft, its items stay`)
        if (write.items === 'replaced') await run('clear_draft', [id])
        await run('edit_sale', valuesOf(write, by))
        return result
      })
    },
    async remove(id, by) {
      return (await database.run('delete_sale', [id, by])).length === 1
    },
  }
}

function valuesOf({ sale, items, changes }: SaleWrite, by: string): unknown[] {
  const written = sale.items
    .map((item, position) => ({ item, position }))
    .filter(({ item }) => items === 'replaced' || items.has(item.id))
  return [
    sale.id,
    sale.name,
    sale.opensAtMs,
    sale.closesAtMs,
    sale.warmBeforeMs,
    sale.rule,
    JSON.stringify(written.map(({ item, position }) => itemColumns(item, position))),
    by,
    JSON.stringify({ changes }),
  ]
}
