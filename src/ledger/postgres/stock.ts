/** Stock changes in PostgreSQL. */

import type { Door } from '../../domain/item.ts'
import type { AskedChange, OpenChange, Stock, StockChange } from '../stock.ts'
import type { Database } from './connection/database.ts'
import { number, optional, queries, text, time } from './rows.ts'

export function createStock(database: Database): Stock {
  const { all, first, one } = queries(database)
  return {
    ask: ({ item, delta, reason, by, key }, judged) =>
      one('ask_change', [item, delta, reason, by, key ?? null, judged?.epoch ?? null, judged?.door ?? null], row => ({
        outcome: text(row, 'outcome') as AskedChange['outcome'],
        no: optional(row, 'no', number),
      })),
    async settle(item, no, epoch, taken, judged) {
      const rights = [judged?.epoch ?? null, judged?.door ?? null]
      return (await first('settle_change', [item, no, epoch, taken, ...rights], row => row.settled === true)) ?? false
    },
    open: item =>
      all('open_changes', [item ?? null], row => ({
        item: text(row, 'item'),
        no: number(row, 'no'),
        delta: number(row, 'delta'),
        state: text(row, 'state') as OpenChange['state'],
        epoch: number(row, 'epoch'),
        door: text(row, 'door') as Door,
      })),
    find: (item, no) =>
      first('find_change', [item, no], row => ({
        no: number(row, 'no'),
        delta: number(row, 'delta'),
        taken: optional(row, 'taken', number),
        state: text(row, 'state') as StockChange['state'],
        reason: text(row, 'reason'),
        by: text(row, 'by'),
        atMs: time(row, 'at'),
      })),
  }
}
