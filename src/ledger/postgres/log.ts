/** The operators' log in PostgreSQL. */

import { assert } from '../../base/assert.ts'
import type { OperatorLog } from '../log.ts'
import type { Database } from './database.ts'
import { optionalText, text, time } from './rows.ts'

export function createOperatorLog(database: Database): OperatorLog {
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
      const [row] = await database.run('remember_key', [call, key, bodyHash, subject])
      assert(row !== undefined, 'remember_key answered no row')
      return { bodyHash: text(row, 'body_hash'), subject: text(row, 'subject') }
    },
  }
}
