/**
 * Outbox entries of sales that are not followed any more: their gate was away when they ended, and came back more than an hour later. A sale is
 * not settled before its entries are in the ledger, so the list ends by itself; until then each item's outbox is read once a round, and a
 * worker places what it finds.
 */

import type { ItemId } from '../../domain/ids.ts'
import type { Outbox } from '../../gate/outbox.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'

export interface OrphanedEntriesParts {
  readonly reconciliation: Pick<Reconciliation, 'unsettledItems'>
  readonly outbox: Pick<Outbox, 'status'>
}

const ITEMS_MAX = 1_000

/** Items with something to place. */
export async function orphanedEntries({ reconciliation, outbox }: OrphanedEntriesParts): Promise<readonly ItemId[]> {
  const unsettled = await reconciliation.unsettledItems(ITEMS_MAX)
  if (unsettled.length === 0) return []
  const { items } = await outbox.status(unsettled.map(({ id }) => id))
  return items.filter(({ entries }) => entries > 0).map(({ item }) => item)
}

/** Has any item that `counts` something to place? A gate that does not answer counts as yes. */
export async function mayBeOrphaned(
  { reconciliation, outbox }: OrphanedEntriesParts,
  counts: (item: ItemId) => boolean,
): Promise<boolean> {
  const unsettled = (await reconciliation.unsettledItems(ITEMS_MAX)).map(({ id }) => id).filter(counts)
  if (unsettled.length === 0) return false
  const { items, away } = await outbox.status(unsettled)
  return away.length > 0 || items.some(({ entries }) => entries > 0)
}
