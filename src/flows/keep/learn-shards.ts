/**
 * Whoever reads an item's row in the ledger lets this process know how many places the item has at the gate, before anything is asked of
 * the gate. Only what is about to be asked for: a list of all sales is no reason to remember all of them.
 */

import type { Item } from '../../domain/item.ts'
import type { Sale } from '../../domain/sale.ts'
import type { Shards } from '../../gate/shards.ts'
import type { Reconciliation } from '../../ledger/reconciliation.ts'
import type { Sales } from '../../ledger/sales.ts'

type Row = Pick<Item, 'id' | 'shards' | 'gateEpoch' | 'gateShards'>

/** The same sales, read with open eyes. */
export function learningSales(sales: Sales, shards: Pick<Shards, 'learn'>): Sales {
  function learnAll<T extends readonly Sale[]>(found: T): T {
    for (const sale of found) for (const item of sale.items) learnRow(shards, item)
    return found
  }
  return {
    ...sales,
    async find(id) {
      const sale = await sales.find(id)
      if (sale !== undefined) learnAll([sale])
      return sale
    },
    async followed() {
      const followed = await sales.followed()
      learnAll(followed.sales)
      return followed
    },
  }
}

/** The same for items that are followed no more. */
export function learningItems(
  reconciliation: Pick<Reconciliation, 'unsettledItems'>,
  shards: Pick<Shards, 'learn'>,
): Pick<Reconciliation, 'unsettledItems'> {
  return {
    async unsettledItems(max) {
      const items = await reconciliation.unsettledItems(max)
      for (const item of items) learnRow(shards, item)
      return items
    },
  }
}

export function learnRow(shards: Pick<Shards, 'learn'>, { id, shards: wanted, gateEpoch, gateShards }: Row): void {
  shards.learn(id, { shards: wanted, epoch: gateEpoch, gateShards })
}
