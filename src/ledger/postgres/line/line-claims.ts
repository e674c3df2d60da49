/** Claims of lines in PostgreSQL. */

import { assert } from '../../../base/assert.ts'
import type { LineClaims } from '../../line-claims.ts'
import type { Database } from '../connection/database.ts'
import { queries, text } from '../rows.ts'

export function createLineClaims(database: Pick<Database, 'run'>): LineClaims {
  const { act, all } = queries(database)
  return {
    async take(asks) {
      const values = [asks.map(ask => ask.sale), asks.map(ask => ask.claim)]
      await act('take_claims', [...values, asks.map(ask => ask.buyer)])
      // Read after the insert: a claim that another transaction took meanwhile is seen.
      const rows = await all(
        'claims_of_line',
        values,
        row => [`${text(row, 'sale')}/${text(row, 'claim')}`, text(row, 'buyer')] as const,
      )
      const owners = new Map(rows)
      return asks.map(({ sale, claim }) => {
        const owner = owners.get(`${sale}/${claim}`)
        assert(owner !== undefined, `a claim of the line of sale ${sale} was not written`)
        return owner
      })
    },
  }
}
