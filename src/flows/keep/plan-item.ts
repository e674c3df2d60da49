/**
 * What the controller has to do about one item, planned from what the ledger and the gate show. Pure: reads nothing, remembers nothing. It
 * only says what is to be begun; the task that begins it takes a new epoch first, so a plan that came too late does no harm.
 */

import type { Door, Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { GateStatus } from '../../gate/gate.ts'

/** How the item's gate has been answering. */
export type GateHealth =
  /** For so long now. */
  | { readonly kind: 'there'; readonly forMs: number; readonly status: GateStatus | undefined }
  | { readonly kind: 'away'; readonly forMs: number }

/**
 * rest           nothing to do, or nothing that can be done now
 * sync           the gate sells it; it must show what the ledger says of the sale
 * rebuild        the gate must be built anew from the ledger
 * compact        the same, as compact as possible: too few units are left for how the gate has spread them
 * without_gate   E10: the gate is away for too long
 * behind_ledger  its home is behind the ledger's door, and it is not there yet
 */
type ItemPlan = 'rest' | 'sync' | 'rebuild' | 'compact' | 'without_gate' | 'behind_ledger'

/** By the ledger's clock. */
export function isOver(sale: Sale, nowMs: number): boolean {
  return sale.state === 'over' || nowMs >= sale.closesAtMs
}

export function planItem(
  sale: Sale,
  item: Item,
  home: Door,
  nowMs: number,
  health: GateHealth,
  { gateDownMs, backMs }: { readonly gateDownMs: number; readonly backMs: number },
): ItemPlan {
  const over = isOver(sale, nowMs)
  const { door } = item
  const sold = door === 'gate' || door === 'draining'
  // What is over is not put on sale any more; but a gate that still has it is kept until the sale is settled.
  if (over && (!sold || item.epoch === 0)) return 'rest'
  if (home === 'ledger') return door === 'ledger' || over ? 'rest' : 'behind_ledger'

  if (health.kind === 'away') {
    const waits = sold || item.epoch === 0
    return waits && health.forMs >= gateDownMs ? 'without_gate' : 'rest'
  }
  switch (door) {
    case 'gate':
      if (health.status?.epoch !== item.epoch) return 'rebuild'
      return !over && health.status.scattered === true ? 'compact' : 'sync'
    case 'draining':
      return 'rebuild'
    case 'ledger':
      return health.forMs >= backMs ? 'rebuild' : 'rest'
    case 'shut':
      return item.epoch === 0 || health.forMs >= backMs ? 'rebuild' : 'rest'
  }
}
