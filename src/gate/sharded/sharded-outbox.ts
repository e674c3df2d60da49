/**
 * The outbox of items that may have several shards: each shard is a partition with entries of its own. `depth`, `status` and `forget` cover
 * all shards that any epoch of the item may have had. Nothing is called empty that was not read: an item whose shard count is not
 * known is a Fault, and `away` in a status.
 */

import { Fault } from '../../base/fault.ts'
import type { ItemId } from '../../domain/ids.ts'
import type { Gate } from '../gate.ts'
import type { Outbox, OutboxDepth, OutboxStatus, Partition } from '../outbox.ts'
import { isOneOfSeveral, itemOf, type ShardId } from '../shard-ids.ts'
import type { ShardCounts } from './shard-counts.ts'
import type { ShardOutbox } from './shard-gate.ts'

interface ShardedOutboxParts {
  readonly outbox: ShardOutbox
  /** Of single shards. */
  readonly gate: Pick<Gate, 'release'>
  readonly counts: Pick<ShardCounts, 'all' | 'forget'>
}

export function createShardedOutbox({ outbox, gate, counts }: ShardedOutboxParts): Outbox {
  function shardsOf(item: ItemId): readonly ShardId[] {
    const all = counts.all(item)
    if (all === undefined)
      throw new Fault('shards_unknown', `item ${item}: its number of shards was not read yet`, { retryable: true })
    return all
  }

  async function depth(items: readonly ItemId[]): Promise<readonly OutboxDepth[]> {
    const shards = new Map(items.map(item => [item, shardsOf(item)]))
    const depthOf = byShard(await outbox.depth([...shards.values()].flat()))
    return items.map(item => sum(item, (shards.get(item) ?? []).flatMap(depthOf)))
  }

  async function status(items: readonly ItemId[]): Promise<OutboxStatus> {
    const shards = new Map(items.map(item => [item, counts.all(item) ?? []]))
    const seen = await outbox.status([...shards.values()].flat())
    const depthOf = byShard(seen.items)
    const silent = new Set(seen.away)
    const depths: OutboxDepth[] = []
    const away: ItemId[] = []
    for (const [item, all] of shards) {
      const found = all.flatMap(depthOf)
      if (found.length > 0) depths.push(sum(item, found))
      if (all.length === 0 || all.some(shard => silent.has(shard))) away.push(item)
    }
    return { items: depths, away }
  }

  return {
    partitions: items => [...items].flatMap(item => (counts.all(item) ?? []) as readonly Partition[]),
    itemOf,
    async take(shard, worker, asksMax) {
      const reply = await outbox.take(shard, worker, asksMax)
      if (reply.status === 'held' || !isOneOfSeveral(shard)) return reply
      // Two shards may give their entries the same id.
      return { status: 'ok', entries: reply.entries.map(one => ({ ...one, id: `${shard} ${one.id}` })) }
    },
    done(shard, epoch, ids) {
      const own = isOneOfSeveral(shard) ? ids.map(id => id.slice(shard.length + 1)) : ids
      return outbox.done(shard, epoch, own)
    },
    release: (shard, epoch, releases) => gate.release(shard, epoch, releases),
    give: (shard, worker) => outbox.give(shard, worker),
    depth,
    status,
    async forget(item) {
      const [found] = await depth([item])
      if (found === undefined || found.entries > 0) return false
      const forgotten = await Promise.all(shardsOf(item).map(shard => outbox.forget(shard)))
      if (!forgotten.every(one => one)) return false
      counts.forget(item)
      return true
    },
  }
}

function byShard(depths: readonly OutboxDepth[]): (shard: ShardId) => readonly OutboxDepth[] {
  const byId = new Map(depths.map(one => [one.item, [one]]))
  return shard => byId.get(shard) ?? []
}

function sum(item: ItemId, shards: readonly OutboxDepth[]): OutboxDepth {
  let [entries, units, oldestMs] = [0, 0, undefined as number | undefined]
  for (const one of shards) {
    entries += one.entries
    units += one.units
    if (one.oldestMs !== undefined) oldestMs = Math.min(oldestMs ?? one.oldestMs, one.oldestMs)
  }
  return { item, entries, units, oldestMs }
}
