/** Sales in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Item } from '../../domain/item.ts'
import type { Sales, SaleWrite } from '../sales.ts'
import type { Database } from './connection/database.ts'
import { time, toSales } from './rows.ts'

export function createSales(database: Database): Sales {
  return {
    async create(sale, by) {
      await database.run('create_sale', [
        sale.id,
        sale.name,
        sale.opensAtMs,
        sale.closesAtMs,
        sale.warmBeforeMs,
        sale.rule,
        JSON.stringify(sale.items.map(itemColumns)),
        by,
      ])
    },
    async find(id) {
      return toSales(await database.run('find_sale', [id]))[0]
    },
    async list({ drafts, limit }) {
      return toSales(await database.run('list_sales', [drafts, limit]))
    },
    async followed() {
      const rows = await database.run('followed_sales', [])
      const [row] = rows
      assert(row !== undefined, 'the ledger has no clock')
      // E2: a standby may show old rows.
      if (row.standby === true)
        throw new Fault('ledger_standby', 'the ledger reached is a standby, not the primary', { retryable: true })
      return { nowMs: time(row, 'now'), sales: toSales(rows.filter(one => one.sale_id !== null)) }
    },
    async move(id, from, to, by, action) {
      return (await database.run('move_sale', [id, from, to, by, action])).length === 1
    },
    async warmNow(id, by) {
      await database.run('warm_sale_now', [id, by])
    },
    edit(id, by, decide) {
      return database.transaction(async run => {
        if ((await run('lock_sale', [id])).length === 0) return undefined
        // Read after the lock was granted: the sale may have changed while this waited for it.
        const [sale] = toSales(await run('find_sale', [id]))
        const [clock] = await run('now', [])
        assert(sale !== undefined && clock !== undefined, `sale ${id} is locked and can't be found`)
        const { write, result } = decide(sale, time(clock, 'now'))
        if (write === undefined) return result
        assert(write.sale.id === id, `the edit of sale ${id} came back as ${write.sale.id}`)
        assert(
          write.items !== 'replaced' || sale.state === 'draft',
          `sale ${id} is not a draft: its items can't be replaced`,
        )
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

/** An item as the columns that `create_sale` and `edit_sale` write, in JSON: ids as strings. */
function itemColumns(item: Item, position: number): Record<string, unknown> {
  return {
    id: item.id,
    position,
    sku: item.sku ?? null,
    name: item.name,
    image: item.image ?? null,
    price_minor: item.price.amount,
    list_price_minor: item.listPrice?.amount ?? null,
    currency: item.price.currency,
    units: item.units,
    quantity_max: item.quantityMax,
    attempts_max: item.attemptsMax,
    pay_within_ms: item.payWithinMs,
    when_gate_down: item.whenGateDown,
    home_door: item.homeDoor,
    shards: item.shards,
  }
}
