/** The access list in PostgreSQL. */

import type { AccessEntry } from '../../domain/access-entry.ts'
import type { AccessList } from '../access.ts'
import type { Database, Row } from './connection/database.ts'
import { number, optional, queries, text, time } from './rows.ts'

export function createAccessList(database: Pick<Database, 'run'>): AccessList {
  const { first, did } = queries(database)
  return {
    add: ({ id, kind, subject, value, untilMs, reason, by }, max) =>
      first('add_access_entry', [id, kind, subject, value, untilMs ?? null, reason ?? null, by, max], toEntry),
    remove: (id, by) => did('remove_access_entry', [id, by]),
    async since(revision) {
      const rows = await database.run('access_entries', [revision])
      if (rows[0] === undefined) return undefined
      return { revision: number(rows[0], 'no'), entries: rows.filter(row => row.id !== null).map(toEntry) }
    },
  }
}

function toEntry(row: Row): AccessEntry {
  return {
    id: text(row, 'id'),
    kind: text(row, 'kind') as AccessEntry['kind'],
    subject: text(row, 'subject') as AccessEntry['subject'],
    value: text(row, 'value'),
    untilMs: optional(row, 'until', time),
    reason: optional(row, 'reason', text),
    by: text(row, 'by'),
    atMs: time(row, 'at'),
  }
}
