/** Counts of refusals in PostgreSQL. */

import type { RefusalCounts } from '../refusal-counts.ts'
import type { Database } from './connection/database.ts'
import { queries } from './rows.ts'

export function createRefusalCounts(database: Database): RefusalCounts {
  const { act, all } = queries(database)
  return {
    save: (process, counts) => act('save_refusal_counts', [process, JSON.stringify(counts)]),
    ofOthers: process => all('refusal_counts_of_others', [process], row => row.counts as Record<string, unknown>),
  }
}
