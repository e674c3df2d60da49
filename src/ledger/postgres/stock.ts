/** Stock changes and moves between shards in PostgreSQL: both numbered per item, one open at a time. */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Door } from '../../domain/item.ts'
import type { AskedChange, OpenChange, Stock, StockChange } from '../stock.ts'
import type { Database } from './connection/database.ts'
import { columns, number, optional, queries, text, time } from './rows.ts'

/** Ended moves of each item, for operators to read. */
const ENDED_KEPT_MAX = 1_000

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
        ...columns(row, number, 'no', 'delta', 'epoch'),
        state: text(row, 'state') as OpenChange['state'],
        door: text(row, 'door') as Door,
      })),
    find: (item, no) =>
      first('find_change', [item, no], row => ({
        ...columns(row, number, 'no', 'delta'),
        ...columns(row, text, 'reason', 'by'),
        taken: optional(row, 'taken', number),
        state: text(row, 'state') as StockChange['state'],
        atMs: time(row, 'at'),
      })),
  }
}

/** The gate declares the contract (`MoveJournal`), app wires it. */
export function createMoves(database: Database) {
  const { all, first, did, act } = queries(database)
  return {
    open: () =>
      all('open_moves', [], row => ({
        item: text(row, 'item'),
        ...columns(row, number, 'no', 'epoch', 'wanted'),
        from: number(row, 'from_shard'),
        to: number(row, 'to_shard'),
        taken: optional(row, 'taken', number),
        current: row.current === true,
      })),
    ask: (item: ItemId, epoch: Epoch, { from, to, wanted }: { from: number; to: number; wanted: number }) =>
      first('ask_move', [item, epoch, from, to, wanted, ENDED_KEPT_MAX], row => number(row, 'no')),
    taken: (item: ItemId, no: number, taken: number) => did('take_move', [item, no, taken]),
    end: (item: ItemId, no: number, how: 'done' | 'void') => act('end_move', [item, no, how]),
  }
}
