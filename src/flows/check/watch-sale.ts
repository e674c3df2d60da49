/**
 * One look at a sale for whoever watches it: the audit, and beside each item how it stands in this process. And the poorer look that
 * needs no ledger: when that is away, somebody surely looks.
 */

import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { LiveItem, Registry } from '../sell/live-item.ts'
import type { AuditLine } from './audit-sale.ts'

export interface WatchSaleParts {
  readonly registry: Registry
  readonly sales: Pick<Sales, 'find'>
}

interface ItemStanding {
  readonly item: ItemId
  /** Asks that wait before the gate. */
  readonly line: number
  /** Reservations that the ledger has not confirmed yet. */
  readonly unsettled: number
  /**
   * selling: this process sells it; withdrawn: it did and is not sure any more; shut: nobody may, until the gate is back or an operator
   * decides (E10); skewed: nobody knows what time it is; away: it does not.
   */
  readonly selling: 'selling' | 'withdrawn' | 'shut' | 'skewed' | 'away'
}

export interface SaleLook {
  readonly sale: Sale
  /** Undefined while the ledger is away. */
  readonly audit: readonly AuditLine[] | undefined
  /** How long ago the audit was made: one that costs the ledger much is shown again. */
  readonly ageMs: number
  readonly standings: readonly ItemStanding[]
}

/** Undefined: there is no such sale. */
export async function watchSale(
  parts: WatchSaleParts,
  audit: (sale: Sale) => Promise<Pick<SaleLook, 'audit' | 'ageMs'>>,
  id: SaleId,
): Promise<SaleLook | undefined> {
  const sale = await parts.sales.find(id)
  if (sale === undefined) return undefined
  return { sale, ...(await audit(sale)), standings: standingsOf(parts, sale) }
}

/** What can be said without the ledger. Undefined: this process does not sell it. */
export function watchRegistry(parts: WatchSaleParts, id: SaleId): SaleLook | undefined {
  for (const { sale } of parts.registry.values())
    if (sale.id === id) return { sale, audit: undefined, ageMs: 0, standings: standingsOf(parts, sale) }
  return undefined
}

function standingsOf({ registry }: WatchSaleParts, sale: Sale): readonly ItemStanding[] {
  return sale.items.map(({ id }) => {
    const liveItem = registry.get(id)
    return {
      item: id,
      line: liveItem?.line.depth() ?? 0,
      unsettled: liveItem?.unsettled.size ?? 0,
      selling: liveItem === undefined ? 'away' : sellingOf(liveItem),
    }
  })
}

export function sellingOf(liveItem: LiveItem): Exclude<ItemStanding['selling'], 'away'> {
  // An item that was never sold is behind a shut door too: it waits for its warm-up.
  if (!liveItem.current) return liveItem.door === 'shut' && liveItem.epoch > 0 ? 'shut' : 'withdrawn'
  return liveItem.skewed ? 'skewed' : 'selling'
}
