/** The journal in PostgreSQL. What it can't hold of a dead letter is replaced or cut off: the rest is kept. */

import type { Journal } from '../journal.ts'
import type { Database } from './connection/database.ts'
import { columns, number, optional, queries, text, time } from './rows.ts'

const RAW_LENGTH_MAX = 262_144
const TEXT_LENGTH_MAX = 2_000
const ID_MAX = '9223372036854775807'

export function createJournal(database: Database): Journal {
  const { all, one, did, act } = queries(database)
  return {
    write: ({ by, action, sale, item, order, details = {} }) =>
      act('write_log', [by, action, sale ?? null, item ?? null, order ?? null, JSON.stringify(details)]),
    read: ({ after, sale, order, limit }) =>
      all('read_log', [after, sale ?? null, order ?? null, limit], row => ({
        ...columns(row, text, 'id', 'by', 'action'),
        atMs: time(row, 'at'),
        sale: optional(row, 'sale', text),
        item: optional(row, 'item', text),
        order: optional(row, 'order_id', text),
        details: row.details,
      })),
    rememberKey: (call, key, bodyHash, subject) =>
      one('remember_key', [call, key, bodyHash, subject], row => columns(row, text, 'body_hash', 'subject')),
    writeDeadLetter: ({ item, epoch, entry, order = '', raw, why }) =>
      did('write_dead_letter', [
        item,
        epoch,
        storable(entry),
        storable(order),
        storable(raw, RAW_LENGTH_MAX),
        storable(why),
      ]),
    deadLetters: (upTo, limit) =>
      all('read_dead_letters', [upTo ?? ID_MAX, limit], row => ({
        ...columns(row, text, 'id', 'item', 'entry', 'raw', 'why'),
        epoch: number(row, 'epoch'),
        order: text(row, 'order_id') || undefined,
        atMs: time(row, 'at'),
      })),
  }
}

/** Text in PostgreSQL has no zero character. */
function storable(value: string, lengthMax = TEXT_LENGTH_MAX): string {
  return value.slice(0, lengthMax).replaceAll('\0', '\ufffd')
}
