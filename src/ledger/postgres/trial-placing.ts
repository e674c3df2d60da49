/** Placing for trial in PostgreSQL. One call at a time: the statements of a transaction share its connection. */

import type { TrialPlacing } from '../trial-placing.ts'
import type { Database } from './connection/database.ts'
import { placeTogether } from './place-together.ts'

export function createTrialPlacing(database: Pick<Database, 'undone'>): TrialPlacing {
  return {
    undone: (item, units, work) =>
      database.undone(async run => {
        await run('trial_sale', [item, units])
        await work(placeTogether({ run }))
      }),
  }
}
