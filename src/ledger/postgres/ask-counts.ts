/** Counts of requests in PostgreSQL. */

import { toRfc3339 } from '../../base/clock.ts'
import type { AskCounts } from '../ask-counts.ts'
import type { Database } from './connection/database.ts'
import { columns, number, optional, queries, time } from './rows.ts'

export function createAskCounts(database: Database): AskCounts {
  const { act, one } = queries(database)
  return {
    save: (process, counts) =>
      act('save_ask_counts', [
        process,
        counts.map(({ sale }) => sale),
        counts.map(({ sinceMs }) => toRfc3339(sinceMs)),
        ...(['asked', 'limited', 'soldOut', 'refused'] as const).map(figure => counts.map(one => one[figure])),
      ]),
    ofOthers: (sale, process) =>
      one('ask_counts_of_others', [sale, process], row => ({
        sinceMs: optional(row, 'since', time),
        ...columns(row, number, 'asked', 'limited', 'sold_out', 'refused'),
      })),
  }
}
