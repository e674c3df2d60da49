/**
 * One sale as the operations page shows it: the audit, and the state of each item in this process. While the ledger is unreachable, the
 * state alone.
 */

import type { ItemId, SaleId } from '../../domain/ids.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Sales } from '../../ledger/sales.ts'
import type { LiveItem, Registry } from '../sell/live-item.ts'
import type { AuditLine } from './audit-sale.ts'

export interface WatchContext {
  readonly registry: Registry
  readonly sales: Pick<Sales, 'find'>
}

interface ItemState {
  readonly item: ItemId
  /** Asks in the queue before the gate. */
  readonly line: number
  /** Reservations that the ledger has not confirmed yet. */
  readonly unsettled: number
  /**
   * selling: this process sells the item. withdrawn: it did, and its right is uncertain. shut: no process may sell it until the gate is
   * back or an operator decides (E10). skewed: the clocks disagree. away: this process does not have the item.
   */
  readonly selling: 'selling' | 'withdrawn' | 'shut' | 'skewed' | 'away'
}

export interface WatchedSale {
  readonly sale: Sale
  /** Undefined while the ledger is unreachable. */
  readonly audit: readonly AuditLine[] | undefined
  /** When the count of the audit began, monotonic: an audit that costs the ledger much is shown again. Undefined without one. */
  readonly beganMs: number | undefined
  readonly items: readonly ItemState[]
}

/** Undefined: there is no such sale. */
export async function watchSale(
  context: WatchContext,
  audit: (sale: Sale) => Promise<Pick<WatchedSale, 'audit' | 'beganMs'>>,
  id: SaleId,
): Promise<WatchedSale | undefined> {
  const sale = await context.sales.find(id)
  if (sale === undefined) return undefined
  return { sale, ...(await audit(sale)), items: statesOf(context, sale) }
}

/** Without the ledger. Undefined: this process does not have the sale. */
export function watchRegistry(context: WatchContext, id: SaleId): WatchedSale | undefined {
  for (const { sale } of context.registry.values())
    if (sale.id === id) return { sale, audit: undefined, beganMs: undefined, items: statesOf(context, sale) }
  return undefined
}

function statesOf({ registry }: WatchContext, sale: Sale): readonly ItemState[] {
  return sale.items.map(({ id }) => {
    const liveItem = registry.get(id)
    return {
      item: id,
      line: liveItem?.queue.depth() ?? 0,
      unsettled: liveItem?.unsettled.size ?? 0,
      selling: liveItem === undefined ? 'away' : sellingOf(liveItem),
    }
  })
}

export function sellingOf(liveItem: LiveItem): Exclude<ItemState['selling'], 'away'> {
  // An item that was never on sale is behind a shut door too: it waits for its warm-up.
  if (!liveItem.current) return liveItem.door === 'shut' && liveItem.epoch > 0 ? 'shut' : 'withdrawn'
  return liveItem.skewed ? 'skewed' : 'selling'
}
