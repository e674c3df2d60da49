/** The journal in PostgreSQL. What it can't hold of a dead letter is replaced or cut off: the rest is kept. */

import type { Journal } from '../journal.ts'
import type { Database } from './connection/database.ts'
import { number, only, optionalText, text, time } from './rows.ts'

const RAW_LENGTH_MAX = 262_144
const TEXT_LENGTH_MAX = 2_000

export function createJournal(database: Database): Journal {
  return {
    async write({ by, action, sale, item, order, details }) {
      await database.run('write_log', [
        by,
        action,
        sale ?? null,
        item ?? null,
        order ?? null,
        JSON.stringify(details ?? {}),
      ])
    },
    async read({ after, sale, order, limit }) {
      return (await database.run('read_log', [after, sale ?? null, order ?? null, limit])).map(row => ({
        id: text(row, 'id'),
        atMs: time(row, 'at'),
        by: text(row, 'by'),
        action: text(row, 'action'),
        sale: optionalText(row, 'sale'),
        item: optionalText(row, 'item'),
        order: optionalText(row, 'order_id'),
        details: row.details,
      }))
    },
    async rememberKey(call, key, bodyHash, subject) {
      const row = only(await database.run('remember_key', [call, key, bodyHash, subject]))
      return { bodyHash: text(row, 'body_hash'), subject: text(row, 'subject') }
    },
    async writeDeadLetter({ item, epoch, entry, order, raw, why }) {
      await database.run('write_dead_letter', [
        item,
        epoch,
        storable(entry, TEXT_LENGTH_MAX),
        storable(order ?? '', TEXT_LENGTH_MAX),
        storable(raw, RAW_LENGTH_MAX),
        storable(why, TEXT_LENGTH_MAX),
      ])
    },
    async deadLetters(max) {
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
