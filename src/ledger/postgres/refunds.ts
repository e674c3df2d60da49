/** Refunds on their way, in PostgreSQL. */

import type { Refunds } from '../refunds.ts'
import type { Database } from './database.ts'
import { number } from './rows.ts'

export function createRefunds(database: Database): Refunds {
  return {
    async waiting(tries) {
      const [row] = await database.run('refunds_waiting', [tries])
      return row === undefined ? 0 : number(row, 'count')
    },
  }
}
