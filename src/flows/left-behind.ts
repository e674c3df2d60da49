/**
 * What a gate has of sales that nobody follows any more: it was away when they ended, and came back more than an hour later. A sale is
 * not settled before that is in the ledger, so the list ends by itself; until then each item is looked at once a round, however long its gate
 * stays away, and a worker is sent only where there is something to place.
 */

import type { ItemId } from '../domain/ids.ts'
import type { Outbox } from '../gate/outbox.ts'
import type { Sales } from '../ledger/sales.ts'

const ITEMS_MAX = 1_000

export async function leftBehind(parts: {
  readonly sales: Pick<Sales, 'unsettledItems'>
  readonly outbox: Pick<Outbox, 'look'>
}): Promise<readonly ItemId[]> {
  const unsettled = await parts.sales.unsettledItems(ITEMS_MAX)
  if (unsettled.length === 0) return []
  const { items } = await parts.outbox.look(unsettled.map(({ id }) => id))
  return items.filter(({ entries }) => entries > 0).map(({ item }) => item)
}
