/** Sales in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import { Fault } from '../../base/fault.ts'
import type { Door } from '../../domain/item.ts'
import type { Sales } from '../sales.ts'
import type { Database } from './database.ts'
import { itemColumns } from './item-columns.ts'
import { number, text, time, toSales } from './rows.ts'

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
    async warmDue() {
      return toSales(await database.run('warm_due_sales', []))
    },
    async followed() {
      const rows = await database.run('followed_sales', [])
      const [row] = rows
      assert(row !== undefined, 'the ledger has no clock')
      // E2: what a standby shows may be old.
      if (row.standby === true)
        throw new Fault('ledger_standby', 'the ledger reached is a standby, not the primary', { retryable: true })
      return { nowMs: time(row, 'now'), sales: toSales(rows.filter(one => one.sale_id !== null)) }
    },
    async unsettledItems(max) {
      return (await database.run('unsettled_items', [max])).map(row => ({
        id: text(row, 'id'),
        shards: number(row, 'shards'),
        gateEpoch: number(row, 'gate_epoch'),
        gateShards: number(row, 'gate_shards'),
      }))
    },
    async move(id, from, to, by, action) {
      return (await database.run('move_sale', [id, from, to, by, action])).length === 1
    },
    async warmNow(id, by) {
      await database.run('warm_sale_now', [id, by])
    },
    async rights(items) {
      return (await database.run('item_rights', [items])).map(row => ({
        item: text(row, 'id'),
        epoch: number(row, 'epoch'),
        door: text(row, 'door') as Door,
      }))
    },
    async now() {
      const [row] = await database.run('now', [])
      assert(row !== undefined, 'the ledger has no clock')
      return time(row, 'now')
    },
  }
}
