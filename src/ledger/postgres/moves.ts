/** The journal of moves between shards in PostgreSQL. The gate declares the contract (`MoveJournal`), app wires it. */

import type { Epoch, ItemId } from '../../domain/ids.ts'
import type { Database } from './connection/database.ts'
import { number, text } from './rows.ts'

/** Of each item, for operators to read. */
const ENDED_KEPT_MAX = 1_000

export function createMoves(database: Database) {
  return {
    async open() {
      return (await database.run('open_moves', [])).map(row => ({
        item: text(row, 'item'),
        no: number(row, 'no'),
        epoch: number(row, 'epoch'),
        from: number(row, 'from_shard'),
        to: number(row, 'to_shard'),
        wanted: number(row, 'wanted'),
        taken: row.taken === null ? undefined : number(row, 'taken'),
        current: row.current === true,
      }))
    },
    async ask(item: ItemId, epoch: Epoch, { from, to, wanted }: { from: number; to: number; wanted: number }) {
      const [row] = await database.run('ask_move', [item, epoch, from, to, wanted, ENDED_KEPT_MAX])
      return row === undefined ? undefined : number(row, 'no')
    },
    async taken(item: ItemId, no: number, taken: number) {
      return (await database.run('take_move', [item, no, taken])).length === 1
    },
    async end(item: ItemId, no: number, how: 'done' | 'void') {
      await database.run('end_move', [item, no, how])
    },
  }
}
