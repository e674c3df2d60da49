/** Dead letters in PostgreSQL. What it can't hold of a poison entry is replaced or cut off: that must not keep the rest from being kept. */

import type { DeadLetters } from '../dead-letters.ts'
import type { Database } from './database.ts'
import { number, text, time } from './rows.ts'

const RAW_LENGTH_MAX = 262_144
const WORDS_LENGTH_MAX = 2_000

export function createDeadLetters(database: Database): DeadLetters {
  return {
    async write({ item, epoch, entry, order, raw, why }) {
      await database.run('write_dead_letter', [
        item,
        epoch,
        storable(entry, WORDS_LENGTH_MAX),
        storable(order ?? '', WORDS_LENGTH_MAX),
        storable(raw, RAW_LENGTH_MAX),
        storable(why, WORDS_LENGTH_MAX),
      ])
    },
    async list(max) {
      return (await database.run('read_dead_letters', [max])).map(row => ({
        item: text(row, 'item'),
        epoch: number(row, 'epoch'),
        entry: text(row, 'entry'),
        order: text(row, 'order_id') === '' ? undefined : text(row, 'order_id'),
        raw: text(row, 'raw'),
        why: text(row, 'why'),
        atMs: time(row, 'at'),
      }))
    },
  }
}

/** Text in PostgreSQL has no zero character. */
function storable(value: string, lengthMax: number): string {
  return value.slice(0, lengthMax).replaceAll('\0', '\ufffd')
}
