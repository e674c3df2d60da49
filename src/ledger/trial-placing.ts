/**
 * Placing for trial: the same statements on the same connections as a sale will need, for an item that is made up and never committed. So
 * connections are open, statements prepared, and the pages that orders are written to are in memory before the crowd comes.
 */

import type { ItemId } from '../domain/ids.ts'
import type { Orders } from './orders.ts'

export interface TrialPlacing {
  /**
   * Runs `work` in one transaction, with an item of this id that has `units` under epoch 1; then all of it is rolled back, whatever happened. No
   * other transaction ever sees any of it. `item` must not exist, and is the id of its sale too.
   */
  undone(item: ItemId, units: number, work: (place: Orders['place']) => Promise<void>): Promise<void>
}
