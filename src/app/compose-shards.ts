/**
 * Wires the gate's shard counts to the ledger: every item row that this process reads before it asks the gate, and every snapshot that a gate
 * is built from, says how many shards the item has. Only rows of items that are about to be asked for: a list of all sales is not
 * remembered. What is not followed any more is forgotten.
 */

import type { ItemId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'
import type { Registry } from '../flows/sell/live-item.ts'
import type { ShardCounts } from '../gate/sharded/shard-counts.ts'
import type { Reconciliation } from '../ledger/reconciliation.ts'
import type { Rights } from '../ledger/rights.ts'
import type { Sales } from '../ledger/sales.ts'

type Counts = Pick<ShardCounts, 'learn' | 'forget'>

function learnRow(
  counts: Counts,
  { id, shards, gateEpoch, gateShards }: Pick<Item, 'id' | 'shards' | 'gateEpoch' | 'gateShards'>,
) {
  counts.learn(id, { shards, epoch: gateEpoch, gateShards })
}

/** Decorator: records each item's shard count. */
export function learnFromSales(sales: Sales, counts: Counts): Sales {
  let followed = new Set<ItemId>()
  let sent = 0
  let newest = 0
  return {
    ...sales,
    async find(id) {
      const sale = await sales.find(id)
      for (const item of sale?.items ?? []) learnRow(counts, item)
      return sale
    },
    async followed() {
      sent += 1
      const no = sent
      const reply = await sales.followed()
      const items = reply.sales.flatMap(sale => sale.items)
      for (const item of items) learnRow(counts, item)
      const listed = new Set(items.map(({ id }) => id))
      // A reply that was overtaken forgets nothing: it may be from before an item was followed.
      if (no > newest) {
        newest = no
        for (const id of followed) if (!listed.has(id)) counts.forget(id)
        followed = listed
      } else for (const id of listed) followed.add(id)
      return reply
    },
  }
}

/** The same for items that are not followed any more. */
export function learnFromUnsettled(reconciliation: Reconciliation, counts: Counts): Reconciliation {
  return {
    ...reconciliation,
    async unsettledItems(max) {
      const items = await reconciliation.unsettledItems(max)
      for (const item of items) learnRow(counts, item)
      return items
    },
  }
}

/** Decorator: records how many shards a new gate has, before anything is loaded into it. */
export function learnFromSnapshots(rights: Rights, counts: Counts): Rights {
  return {
    ...rights,
    snapshot: (item, epoch, onPage, compact) =>
      rights.snapshot(item, epoch, onPage, compact, ({ shards, gateShards }) =>
        counts.learn(item, { shards, epoch, gateShards }),
      ),
  }
}

/** Items whose units may move between shards now. */
export function* soldAtGate(registry: Registry) {
  for (const { item, epoch, door, current } of registry.values())
    if (door === 'gate' && current) yield { item: item.id, epoch }
}
