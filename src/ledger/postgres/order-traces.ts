/** Traces of orders in PostgreSQL. */

import type { OrderTraces } from '../order-traces.ts'
import type { Database } from './connection/database.ts'
import { queries, text } from './rows.ts'

export function createOrderTraces(database: Database): OrderTraces {
  const { act, all } = queries(database)
  return {
    note: traces => act('note_traces', [traces.map(([order]) => order), traces.map(([, parent]) => parent)]),
    sweep: rowsMax => act('sweep_traces', [rowsMax]),
    find: async orders =>
      new Map(await all('find_traces', [orders], row => [text(row, 'id'), text(row, 'parent')] as const)),
  }
}
