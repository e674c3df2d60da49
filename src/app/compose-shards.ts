/**
 * Wires the gate's shard counts to the ledger: every item row that this process reads before it asks the gate, and every snapshot that a gate
 * is built from, says how many shards the item has. Only rows of items that are about to be asked for: a list of all sales is not
 * remembered. What is not followed any more is forgotten.
 */

import type { ItemId } from '../domain/ids.ts'
import type { Item } from '../domain/item.ts'
import type { Sale } from '../domain/sale.ts'
import type { Registry } from '../flows/sell/live-item.ts'
import type { ShardCounts } from '../gate/sharded/shard-counts.ts'
import type { LedgerParts } from './compose-ledger.ts'

/** Decorators: each records what it reads. A new gate's shards are recorded before anything is loaded into it. */
export function learnShards(
  { sales, rights, reconciliation }: Pick<LedgerParts, 'sales' | 'rights' | 'reconciliation'>,
  counts: Pick<ShardCounts, 'learn' | 'forget'>,
): Pick<LedgerParts, 'sales' | 'rights' | 'reconciliation'> {
  let followed = new Set<ItemId>()
  /** What `followed` was taken from. */
  let list: readonly Sale[] | undefined
  let sent = 0
  let newest = 0

  function learn(items: readonly Pick<Item, 'id' | 'shards' | 'gateEpoch' | 'gateShards'>[]): void {
    for (const { id, shards, gateEpoch, gateShards } of items)
      counts.learn(id, { shards, epoch: gateEpoch, gateShards })
  }

  return {
    sales: {
      ...sales,
      async find(id) {
        const sale = await sales.find(id)
        learn(sale?.items ?? [])
        return sale
      },
      async followed() {
        sent += 1
        const no = sent
        const reply = await sales.followed()
        // It is the same object where nothing has changed.
        if (reply.sales === list) {
          newest = Math.max(newest, no)
          return reply
        }
        const items = reply.sales.flatMap(sale => sale.items)
        learn(items)
        const listed = new Set(items.map(({ id }) => id))
        // A reply that was overtaken forgets nothing: it may be from before an item was followed.
        if (no > newest) {
          newest = no
          list = reply.sales
          for (const id of followed) if (!listed.has(id)) counts.forget(id)
          followed = listed
        } else {
          list = undefined
          for (const id of listed) followed.add(id)
        }
        return reply
      },
    },
    reconciliation: {
      ...reconciliation,
      async unsettledItems(after, max) {
        const items = await reconciliation.unsettledItems(after, max)
        learn(items)
        return items
      },
    },
    rights: {
      ...rights,
      snapshot: (item, epoch, onPage, compact) =>
        rights.snapshot(item, epoch, onPage, compact, ({ shards, gateShards }) =>
          counts.learn(item, { shards, epoch, gateShards }),
        ),
    },
  }
}

/** Items whose units may move between shards now. */
export function* soldAtGate(registry: Registry) {
  for (const { item, epoch, door, current } of registry.values())
    if (door === 'gate' && current) yield { item: item.id, epoch }
}
