/**
 * The gate's reservations, page by page, for reconciliation and buyer filters. Not for the hot path.
 * Pages are read one after the other while the sale goes on: a difference must be seen twice before it is acted on.
 */

import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Holding } from './gate.ts'

export interface GateBooks {
  /** Every attempt the gate knows of, live and closed. Nothing under another epoch. */
  holdings(item: ItemId, epoch: Epoch): AsyncIterable<readonly Holding[]>
}
