/**
 * The gate's books, for reconciliation: who holds what, page by page. Not for the hot path.
 * Pages are read one after the other while the sale goes on: what differs must be seen twice before anybody acts on it.
 */

import type { Epoch, ItemId } from '../domain/ids.ts'
import type { Holding } from './gate.ts'

export interface GateBooks {
  /** Every attempt the gate knows of, live and closed. Nothing under another epoch. */
  holdings(item: ItemId, epoch: Epoch): AsyncIterable<readonly Holding[]>
}
