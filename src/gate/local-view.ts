/**
 * What this process knows of the gate without a promise, for the edge's cheapest path: a refusal costs the reading of a number. Nothing
 * here takes, gives back or decides; the gate itself judges again when it is asked.
 */

import type { BuyerId, Epoch, ItemId } from '../domain/ids.ts'
import type { Ask, GateStatus } from './gate.ts'

type LocalRefusal = 'attempts_used' | 'not_enough'

export interface LocalView {
  /** The gate's clock: the one that judges the window. */
  nowMs(): number
  /**
   * The item's status, or undefined while it is not active. It may be a live object, which changes while the epoch is active: read it anew
   * for each decision, and copy what must not change.
   */
  statusNow(item: ItemId): GateStatus | undefined
  /** Has this buyer any attempt on the item, live or closed? Goes on answering from the last active epoch while the next one loads. */
  knows(item: ItemId, buyer: BuyerId): boolean
  /**
   * What the gate would refuse this ask with; undefined where it would not, or not for good: then ask it. Only a gate in the process has
   * this: elsewhere units may come back meanwhile.
   */
  refusal?(item: ItemId, epoch: Epoch, ask: Pick<Ask, 'buyer' | 'attempt' | 'quantity'>): LocalRefusal | undefined
  /** Frees an item whose sale is over. Its epochs stay fenced: only a higher one can bring the item back. */
  drop(item: ItemId): void
}
