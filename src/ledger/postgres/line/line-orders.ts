/** Orders that came out of lines, in PostgreSQL. */

import type { LineOrders } from '../../line-orders.ts'
import type { Database } from '../connection/database.ts'
import { number, queries } from '../rows.ts'

export function createLineOrders(database: Pick<Database, 'run'>): LineOrders {
  const { all } = queries(database)
  return { ordered: sale => all('joins_with_order', [sale], row => number(row, 'number')) }
}
