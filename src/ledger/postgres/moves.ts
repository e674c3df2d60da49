/** The journal of moves between shards in PostgreSQL. The gate declares the contract (`MoveJournal`), app wires it. */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Database } from './connection/database.ts'
import { number, optional, queries, text } from './rows.ts'

/** Of each item, for operators to read. */
const ENDED_KEPT_MAX = 1_000

export function createMoves(database: Database) {
  const { all, first, did, act } = queries(database)
  return {
    open: () =>
      all('open_moves', [], row => ({
        item: text(row, 'item'),
        no: number(row, 'no'),
        epoch: number(row, 'epoch'),
        from: number(row, 'from_shard'),
        to: number(row, 'to_shard'),
        wanted: number(row, 'wanted'),
        taken: optional(row, 'taken', number),
        current: row.current === true,
      })),
    ask: (item: ItemId, epoch: Epoch, { from, to, wanted }: { from: number; to: number; wanted: number }) =>
      first('ask_move', [item, epoch, from, to, wanted, ENDED_KEPT_MAX], row => number(row, 'no')),
    taken: (item: ItemId, no: number, taken: number) => did('take_move', [item, no, taken]),
    end: (item: ItemId, no: number, how: 'done' | 'void') => act('end_move', [item, no, how]),
  }
}
