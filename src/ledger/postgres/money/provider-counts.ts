/** Counts of providers' answers in PostgreSQL. */

import type { ProviderCounts } from '../../provider-counts.ts'
import type { Database } from '../connection/database.ts'
import { columns, number, queries, text } from '../rows.ts'

export function createProviderCounts(database: Database): ProviderCounts {
  const { act, all } = queries(database)
  return {
    save: (process, counts) =>
      act('save_provider_counts', [
        process,
        counts.map(({ provider }) => provider),
        counts.map(one => JSON.stringify(one.counts)),
      ]),
    ofOthers: process =>
      all('provider_counts_of_others', [process], row => ({
        provider: text(row, 'provider'),
        counts: row.counts as Record<string, unknown>,
      })),
    open: tries =>
      all('open_payments', [tries], row => ({
        provider: text(row, 'provider'),
        ...columns(row, number, 'started', 'refunds_due', 'refunds_stuck'),
      })),
  }
}
