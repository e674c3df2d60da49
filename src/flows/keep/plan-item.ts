/**
 * What a keeper has to do about one item of a cluster, judged from what the ledger and the gate show. Pure: reads nothing, remembers
 * nothing. Only says what is to be begun; whoever begins it takes a new epoch first, so a judgement that came too late does no harm.
 */

import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { GateStatus } from '../../gate/gate.ts'

/** How the item's gate has been answering. */
export type GateHealth =
  /** For so long now. */
  | { readonly kind: 'there'; readonly forMs: number; readonly look: GateStatus | undefined }
  | { readonly kind: 'away'; readonly forMs: number }

/**
 * rest           nothing to do, or nothing that can be done now
 * tell           the gate sells it and must be told what the ledger says of the sale, if it does not show that already
 * rebuild        the gate must be built anew from the ledger
 * compact        the same, as compact as possible: too few units are left for how the gate has spread them
 * without_gate   E10: the gate is away for too long
 * behind_ledger  it lives behind the ledger, and is not there yet
 */
type ItemPlan = 'rest' | 'tell' | 'rebuild' | 'compact' | 'without_gate' | 'behind_ledger'

/** A gate that has just come back may go again: as long as somebody else sells, it is not trusted at once. */
const BACK_MS = 1_000

/** By the ledger's clock. */
export function isOver(sale: Sale, nowMs: number): boolean {
  return sale.state === 'over' || nowMs >= sale.closesAtMs
}

export function planItem(sale: Sale, item: Item, nowMs: number, reach: GateHealth, gateDownMs: number): ItemPlan {
  const over = isOver(sale, nowMs)
  const { door } = item
  const sold = door === 'gate' || door === 'draining'
  // What is over is not put on sale any more; but a gate that still has it is looked after until the sale is settled.
  if (over && (!sold || item.epoch === 0)) return 'rest'
  if (item.homeDoor === 'ledger') return door === 'ledger' || over ? 'rest' : 'behind_ledger'

  if (reach.kind === 'away') {
    const waits = sold || item.epoch === 0
    return waits && reach.forMs >= gateDownMs ? 'without_gate' : 'rest'
  }
  switch (door) {
    case 'gate':
      if (reach.look?.epoch !== item.epoch) return 'rebuild'
      return !over && reach.look.scattered === true ? 'compact' : 'tell'
    case 'draining':
      return 'rebuild'
    case 'ledger':
      return reach.forMs >= BACK_MS ? 'rebuild' : 'rest'
    case 'shut':
      return item.epoch === 0 || reach.forMs >= BACK_MS ? 'rebuild' : 'rest'
  }
}
