/**
 * What a gate in the same process can tell without a promise, for the edge's cheapest path: refusing the crowd costs a look at a
 * number. Nothing here takes, gives back or decides; the gate itself judges again when it is asked.
 */

import type { BuyerId, Epoch, ItemId } from '../domain/ids.ts'
import type { Ask, GateStatus } from './gate.ts'

type LocalRefusal = 'attempts_used' | 'not_enough'

export interface LocalView {
  /** The gate's clock: the one that judges the window. */
  nowMs(): number
  /**
   * The item as it stands, or undefined while nobody may sell it here. The view is live: it stays current as long as the epoch
   * is active and stands still afterwards. So look again for each decision, and copy what must not change.
   */
  statusNow(item: ItemId): GateStatus | undefined
  /** Has this buyer any attempt on the item, live or closed? Goes on answering from the last active epoch while the next one loads. */
  knows(item: ItemId, buyer: BuyerId): boolean
  /**
   * What this ask would be refused with if the gate were asked now; undefined where it would not be, or not for good: then ask. Only
   * where nobody else can ask the gate meanwhile: what another process sees as refused might have come back.
   */
  refusal?(item: ItemId, epoch: Epoch, ask: Pick<Ask, 'buyer' | 'attempt' | 'quantity'>): LocalRefusal | undefined
  /** Frees an item whose sale is over. Its epochs stay fenced: only a higher one can bring the item back. */
  drop(item: ItemId): void
}
