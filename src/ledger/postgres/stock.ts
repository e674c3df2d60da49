/** Stock changes in PostgreSQL. */

import type { Door } from '../../domain/item.ts'
import type { AskedChange, OpenChange, Stock, StockChange } from '../stock.ts'
import type { Database } from './connection/database.ts'
import { number, only, text, time } from './rows.ts'

export function createStock(database: Database): Stock {
  return {
    async ask({ item, delta, reason, by, key }) {
      const row = only(await database.run('ask_change', [item, delta, reason, by, key ?? null]))
      return {
        outcome: text(row, 'outcome') as AskedChange['outcome'],
        no: row.no === null ? undefined : number(row, 'no'),
      }
    },
    async settle(item, no, epoch, taken) {
      const [row] = await database.run('settle_change', [item, no, epoch, taken])
      return row?.settled === true
    },
    async open(item) {
      return (await database.run('open_changes', [item ?? null])).map(row => ({
        item: text(row, 'item'),
        no: number(row, 'no'),
        delta: number(row, 'delta'),
        state: text(row, 'state') as OpenChange['state'],
        epoch: number(row, 'epoch'),
        door: text(row, 'door') as Door,
      }))
    },
    async find(item, no) {
      const [row] = await database.run('find_change', [item, no])
      if (row === undefined) return undefined
      return {
        no: number(row, 'no'),
        delta: number(row, 'delta'),
        taken: row.taken === null ? undefined : number(row, 'taken'),
        state: text(row, 'state') as StockChange['state'],
        reason: text(row, 'reason'),
        by: text(row, 'by'),
        atMs: time(row, 'at'),
      }
    },
  }
}
